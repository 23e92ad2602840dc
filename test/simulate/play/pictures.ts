import { crc32 } from 'node:zlib'
import { linkOf } from '../../fuzz/readers/made.ts'
import { jpeg, png } from '../../harness/pictures.ts'
import type { Random } from '../world/random.ts'
import type { Picture } from './asks.ts'

const sizes = [
  [800, 600],
  [1024, 1024],
  [1254, 1254],
  [1672, 941],
  [1536, 1024],
  [2048, 1152],
  [3000, 2000],
] as const

/** A picture as bytes, or as a link. */
export type Painted = Picture & { readonly base64: string; readonly url: string }

/** Creates pictures that are all different. */
export class Painter {
  #count = 0
  /** The bytes of each, by its number. */
  readonly painted = new Map<number, Buffer>()

  paint(random: Random): Painted {
    const number = ++this.#count
    const [width, height] = random.pick(sizes)
    const stamp = Buffer.from(String(number).padStart(12, '0'))
    const stamped = random.chance(0.8) ? stampJpeg(jpeg(width, height), stamp) : stampPng(png(width, height), stamp)
    this.painted.set(number, stamped)
    const base64 = stamped.toString('base64')
    return { width, height, base64, url: '', proof: base64 }
  }

  /** A picture that is delivered as a link. */
  link(random: Random): Painted {
    const painted = this.paint(random)
    const url = linkOf(this.#count)
    return { ...painted, url, proof: url }
  }
}

/** After the header, before the end: scan data. */
function stampJpeg(bytes: Buffer, stamp: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, -8), stamp, bytes.subarray(-8)])
}

/** A comment before the last chunk (PNG 11.3.4.3). */
function stampPng(bytes: Buffer, stamp: Buffer): Buffer {
  const lastBytes = 12
  const named = Buffer.concat([Buffer.from('tEXtno\0'), stamp])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(named.length - 4)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([bytes.subarray(0, -lastBytes), length, named, sum, bytes.subarray(-lastBytes)])
}
