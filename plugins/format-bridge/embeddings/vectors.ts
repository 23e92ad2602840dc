import type { Json } from '../../../src/plugin-api/index.ts'
import { AnswerFault, isAbsent, RequestFault } from '../neutral/index.ts'

const floatBytes = 4

/** A vector in an answer: numbers, or base64 of little-endian 32-bit floats. @throws AnswerFault */
export function numbersOf(value: Json | undefined): readonly number[] {
  if (typeof value === 'string') return floatsOf(Buffer.from(value, 'base64'))
  if (!Array.isArray(value) || !value.every(one => typeof one === 'number'))
    throw new AnswerFault('an embedding is no list of numbers')
  return value
}

function floatsOf(bytes: Buffer): readonly number[] {
  if (bytes.length % floatBytes !== 0) throw new AnswerFault('an embedding is cut')
  return Array.from({ length: bytes.length / floatBytes }, (_, i) => bytes.readFloatLE(i * floatBytes))
}

/** The requested number of members of each vector; undefined for the model's default. @throws RequestFault */
export function readDimensions(value: Json | undefined, field: string): number | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0)
    throw new RequestFault(field, 'a positive integer')
  return value
}
