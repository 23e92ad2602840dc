import { randomUUID } from 'node:crypto'
import { type Fields, readFields } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { inputPartsOf } from './input-parts.ts'
import { type Marks, readMarks, type ToolCall } from './marks.ts'
import { perform, type Script, scriptJson } from './perform.ts'
import { type Prose, writeJson, writeProse } from './prose.ts'
import { countWords, lastTurn, listOf, readList, type Shape, shapeOf, textOf } from './read.ts'
import { googleStyle } from './styles.ts'
import { callTool } from './tools.ts'
import { vectorOf } from './vectors.ts'

/**
 * The generative-language methods of a model, by their names after the colon
 * (`docs/wire.md#generative-language-paths`).
 */
export const generateMethods = {
  generateContent: perform(googleStyle, call => {
    const { marks, chunks, whole } = rehearse(call)
    return { marks, script: scriptJson({ ...whole, ...chunks.at(-1)?.tail }) }
  }),
  streamGenerateContent: perform(googleStyle, call => {
    const { marks, chunks } = rehearse(call)
    const values = chunks.map(({ part, tail }) => ({ ...part, ...tail }))
    return { marks, script: call.query.get('alt') === 'sse' ? scriptSse(values) : scriptArray(values) }
  }),
  countTokens: perform(googleStyle, call => {
    const fields = readNamed(call)
    // The contents are in the body itself, or in the whole request that the client wants to count.
    const request = shapeOf(fields.get('generateContentRequest'))
    const input = fields.has('contents') ? fields : new Map(Object.entries(request))
    const contents = readList(input, 'contents')
    const totalTokens = countInput(input, contents)
    const promptTokensDetails = [{ modality: 'TEXT', tokenCount: totalTokens }]
    return { marks: readMarks(textOf(contents.at(-1))), script: scriptJson({ totalTokens, promptTokensDetails }) }
  }),
  embedContent: perform(googleStyle, call => {
    const text = textOf(readNamed(call).get('content') ?? '')
    return { marks: readMarks(text), script: scriptJson({ embedding: embed(Object.fromEntries(readNamed(call))) }) }
  }),
  batchEmbedContents: perform(googleStyle, call => {
    const requests = readList(readNamed(call), 'requests')
    const marks = readMarks(textOf(shapeOf(requests[0])['content'] ?? ''))
    return { marks, script: scriptJson({ embeddings: requests.map(embed) }) }
  }),
}

/** Members with the client's own names inside: schemas, and the arguments and results of functions. */
const opaque = new Set('parameters parametersJsonSchema responseSchema responseJsonSchema args response'.split(' '))

/** The fields by their names in camel case. The vendor also accepts names with underscores, which some clients send. */
function readNamed(call: Call): Fields {
  return new Map([...readFields(call)].map(([name, value]) => [camelOf(name), renameAll(value)]))
}

function renameAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renameAll)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const name = camelOf(key)
      return [name, opaque.has(name) ? one : renameAll(one)]
    }),
  )
}

function camelOf(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

type Chunk = {
  /** The part of the record with the text of this chunk. */
  readonly part: object
  /** The part of the record that every chunk repeats: the tokens so far and the model. */
  readonly tail: object
}

function rehearse(call: Call): { marks: Marks; chunks: readonly Chunk[]; whole: object } {
  const fields = readNamed(call)
  const contents = readList(fields, 'contents')
  const turn = lastTurn(contents)
  const marks = readMarks(textOf(turn))
  const config = shapeOf(fields.get('generationConfig'))
  const { maxOutputTokens, candidateCount } = config
  const wordsMax = readCount('maxOutputTokens', maxOutputTokens)
  const tool = callOf(fields, turn, marks)
  const count = readCount('candidateCount', candidateCount) ?? 1
  const answers = Array.from({ length: Math.min(count, 8) }, (_, index) => say(config, marks, index, wordsMax))
  const prompt = countInput(fields, contents)
  const id = randomUUID()
  let output = 0
  const chunks: Chunk[] = []
  for (const [index, prose] of answers.entries()) {
    const parts: readonly object[] = tool ? [partOf(tool)] : prose.words.map(text => ({ text }))
    for (const [i, part] of parts.entries()) {
      const last = i === parts.length - 1
      output += tool ? 1 + countWords(JSON.stringify(tool.input)) : 1
      chunks.push({
        part: { candidates: [candidate(index, last ? trim(part) : part, last ? endOf(prose, marks) : {})] },
        tail: tailOf(call, prompt, output, marks, id),
      })
    }
  }
  const whole = {
    candidates: answers.map((prose, index) =>
      candidate(index, tool ? partOf(tool) : { text: prose.text }, endOf(prose, marks)),
    ),
  }
  return { marks, chunks, whole }
}

function say(config: Shape, marks: Marks, index: number, wordsMax: number | undefined): Prose {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config
  const schema = responseJsonSchema ?? responseSchema
  return type === 'application/json' ? writeJson(schema, marks, wordsMax) : writeProse(marks, index, wordsMax)
}

function tailOf({ params }: Call, prompt: number, output: number, marks: Marks, id: string): object {
  const { cached, audio } = inputPartsOf(prompt, marks)
  const thoughts = marks.reasoningTokens
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output,
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      totalTokenCount: prompt + output + thoughts,
      ...(cached > 0 && { cachedContentTokenCount: cached }),
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: prompt - audio },
        ...(audio > 0 ? [{ modality: 'AUDIO', tokenCount: audio }] : []),
      ],
    },
    modelVersion: params['model'],
    responseId: id,
  }
}

function candidate(index: number, part: object, end: object): object {
  return { content: { parts: [part], role: 'model' }, ...end, index }
}

/** The end of a candidate: the reason for the end, and the search queries. */
function endOf(prose: Prose, { searches, text }: Marks): object {
  const webSearchQueries = Array.from({ length: searches }, () => text)
  return { finishReason: finishOf(prose), ...(searches > 0 && { groundingMetadata: { webSearchQueries } }) }
}

function partOf({ name, input }: ToolCall): object {
  return { functionCall: { name, args: input } }
}

function trim(part: object): object {
  return 'text' in part ? { text: String(part.text).trimEnd() } : part
}

function finishOf({ truncated }: Prose): string {
  return truncated ? 'MAX_TOKENS' : 'STOP'
}

function readCount(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  throw fail('invalid_type', {
    name: `generationConfig.${name}`,
    expected: 'a positive integer',
    found: JSON.stringify(value),
  })
}

function countInput(fields: Fields, contents: readonly unknown[]): number {
  return countWords(textOf(contents)) + countWords(textOf(fields.get('systemInstruction') ?? ''))
}

function callOf(fields: Fields, turn: readonly unknown[], marks: Marks): ToolCall | undefined {
  const tools = listOf(fields.get('tools')).flatMap(tool =>
    listOf(shapeOf(tool)['functionDeclarations']).flatMap(one => {
      const { name, parameters, parametersJsonSchema } = shapeOf(one)
      return typeof name === 'string' ? [{ name, schema: parametersJsonSchema ?? parameters }] : []
    }),
  )
  const { mode } = shapeOf(shapeOf(fields.get('toolConfig'))['functionCallingConfig'])
  const given = turn.flatMap(content => listOf(shapeOf(content)['parts']))
  const answered = given.some(part => 'functionResponse' in shapeOf(part))
  return answered || mode === 'NONE' ? undefined : callTool(tools, marks, mode === 'ANY')
}

/** This vendor ends a record with two CRLFs. */
function scriptSse(values: readonly object[]): Script {
  const pieces = values.map(value => `data: ${JSON.stringify(value)}\r\n\r\n`)
  return { type: 'text/event-stream', stream: true, pieces }
}

/** One JSON array, in one piece per element. */
function scriptArray(values: readonly object[]): Script {
  const pieces = values.map((value, i) => `${i === 0 ? '[' : ',\r\n'}${JSON.stringify(value)}`)
  return { type: 'application/json', stream: false, pieces: [...pieces, ']'] }
}

function embed(request: unknown): object {
  const { content, outputDimensionality } = shapeOf(request)
  if (content === undefined) throw fail('missing_required_parameter', { name: 'content' }, { param: 'content' })
  return { values: vectorOf(textOf(content), readCount('outputDimensionality', outputDimensionality) ?? 256) }
}
