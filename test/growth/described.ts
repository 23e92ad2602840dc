import { describe as describeAnswer } from '../../plugins/image-tier-billing/described-places.ts'
import { measureInputs } from '../../plugins/image-tier-billing/input-pixels.ts'
import { DescribedScanner } from '../../plugins/image-tier-billing/scan-described.ts'
import { DescribedEventScanner } from '../../plugins/image-tier-billing/scan-described-events.ts'
import { wholeEventsBytesMax } from '../../plugins/image-tier-billing/held-record.ts'
import { describe } from '../../plugins/translate/describe.ts'
import { holdAnswer } from '../../plugins/translate/held-answer.ts'
import { readAnswer } from '../../plugins/translate/read-answer.ts'
import { Refused } from '../../plugins/translate/refused.ts'
import type { Section } from '../../plugins/translate/schema.ts'
import { shapeRequest } from '../../plugins/translate/shape-request.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { jobJson } from '../../src/gateway/job-json.ts'
import { Failure, type Job } from '../../src/domain/index.ts'
import { createResponseMetadata, type UpstreamResponse } from '../../src/plugin-api/index.ts'
import { ByteBudget, PictureWriter } from '../../src/wire/index.ts'
import { scan } from './answers.ts'
import { around, eventStreams, fill, type Generator, jsonBodies } from './bodies.ts'
import { picture, pictureLists, vendorAnswers } from './described-bodies.ts'
import type { Reader } from './readers.ts'

const events: { readonly [name: string]: Generator } = {
  pictures: bytes => fill(bytes, `data: {"status":"done","output":["${picture}"]}\n\n`),
  'small events': bytes => fill(bytes, 'data: {"status":"run"}\n\n'),
  'one event of numbers': bytes => around('data: {"output":[', fill(bytes, '1,'), '1]}\n\n'),
  'no line ends': eventStreams['no line ends'] as Generator,
  'events that grow': eventStreams['events that grow'] as Generator,
}

const section = {
  request: { prompt: '{prompt}', image: { url: '{image.only.url}' }, images: [{ url: '{image.several.url}' }] },
  rest: '.',
  answer: { at: 'output', picture: '.' },
  stream: { each: 'answer' },
  job: {
    id: 'id',
    poll: { path: '/{id}' },
    state: 'status',
    running: ['run'],
    done: ['done'],
    failed: ['failed'],
    every: '1s',
    within: '1m',
  },
} as unknown as Section
const reading = describe(section)
const billed = describeAnswer({ at: 'output', picture: '.', stream: { each: 'answer' } } as never)

/** Readers of formats that a file describes, and of jobs. */
export const describedReaders: readonly Reader[] = [
  { name: 'poll of a job', kinds: { ...vendorAnswers, ...jsonBodies }, read: bytes => readPoll(bytes, 65_536) },
  { name: 'poll of a job, byte by byte', kinds: vendorAnswers, bytesMax: 1 << 12, read: bytes => readPoll(bytes, 1) },
  { name: 'described answer', kinds: vendorAnswers, read: bytes => readDescribed(bytes, 'application/json', 65_536) },
  {
    name: 'described answer, byte by byte',
    kinds: vendorAnswers,
    bytesMax: 1 << 12,
    read: bytes => readDescribed(bytes, 'application/json', 1),
  },
  { name: 'described events', kinds: events, read: bytes => readDescribed(bytes, 'text/event-stream', 65_536) },
  {
    name: 'own answer with images',
    kinds: vendorAnswers,
    read: bytes => scan(bytes, 65_536, new DescribedScanner(billed)),
  },
  {
    name: 'own events with images',
    kinds: events,
    read: bytes => scan(bytes, 65_536, new DescribedEventScanner(billed, new ByteBudget(wholeEventsBytesMax))),
  },
  // Longer fields are refused before they are read.
  { name: 'pictures of a request', kinds: pictureLists, bytesMax: 1 << 21, read: shapePictures },
  { name: 'sizes of pictures', kinds: pictureLists, bytesMax: 1 << 19, read: measurePictures },
  { name: 'a job as it is told', kinds: { ...vendorAnswers, ...jsonBodies }, read: bytes => jobJson(jobOf(bytes)) },
]

async function* inChunks(bytes: Buffer, chunkBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

const claim = { take: () => true, give: () => undefined }

function heardOf(bytes: Buffer, type: string, chunkBytes: number): UpstreamResponse {
  return { status: 200, headers: { 'content-type': type }, body: inChunks(bytes, chunkBytes) }
}

/** The status of a job, followed by its result. */
async function readPoll(bytes: Buffer, chunkBytes: number): Promise<void> {
  const heard = heardOf(bytes, 'application/json', chunkBytes)
  const { body } = await holdAnswer(heard, { reading, claim })
  await readAll({ ...heard, body })
}

function readDescribed(bytes: Buffer, type: string, chunkBytes: number): Promise<void> {
  return readAll(heardOf(bytes, type, chunkBytes))
}

async function readAll(heard: UpstreamResponse): Promise<void> {
  const metadata = createResponseMetadata()
  const writer = new PictureWriter(metadata, { created: 1 })
  const sums = { usage: new Map<string, number>(), words: new Map<string, string>() }
  const follow = (): never => {
    throw new Error('no link is followed')
  }
  try {
    for await (const _ of readAnswer(heard, { reading, writer, metadata, sums, claim, isOneOfSeveral: false, follow }));
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Failure)) throw error
  }
}

function shapePictures(bytes: Buffer): void {
  const body = { kind: 'json', json: scanObject(bytes) } as const
  try {
    shapeRequest(section, { body, model: 'm', n: 1, requestedSize: undefined }, { bytes: size => Buffer.alloc(size) })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
  }
}

function measurePictures(bytes: Buffer): Promise<unknown> {
  const body = { kind: 'json', json: scanObject(bytes) } as const
  const lines = [{ per: 'megapixel', of: 'input' }]
  return measureInputs({ lines } as never, { body, family: { forward: new Map() }, operation: 'x' } as never)
}

function jobOf(body: Buffer): Job {
  const answer = { status: 200, headers: {}, body }
  return { id: 'a', state: 'done', model: 'm', operation: 'x', createdAt: 0, endedAt: 1, answer } as unknown as Job
}
