import { chatRequest, conversationRequest, editForm, limitedRequest, pictureRequest } from './bodies.ts'
import type { TargetName } from './targets.ts'

/** The medians of one target in one row. */
export type Measured = {
  readonly requestsPerSecond: number
  /** User and system time of the target's processes per request. */
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly peakMegabytes: number
  /** 99th percentile of the event loop's delay, if the target reports it. */
  readonly loopP99Ms: number
}

/** The requirement, and the result. */
export type Verdict = {
  readonly text: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
}

export type Row = {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly contentType: string
  readonly body: Buffer | string
  readonly connections: number
  /** Number of requests per run, instead of a number of seconds. */
  readonly count?: number
  /** Whether every request is refused on purpose. */
  readonly isRefused?: boolean
  /** Paths that differ from the row's. */
  readonly paths?: { readonly [target in TargetName]?: string }
  readonly targets: readonly TargetName[]
  judge(of: (target: TargetName) => Measured): readonly Verdict[]
}

const megabyte = 1024 * 1024
const edit = editForm('bench-image', 30 * megabyte)
const image = JSON.stringify({ model: 'bench-image', prompt: 'a boat', n: 4 })
const json = 'application/json'

/** The rows of the performance table that wrk can drive. */
export const rows: readonly Row[] = [
  {
    name: 'chat',
    title: 'chat pass-through, 1 KiB in, 1 KiB out, 64 connections',
    path: '/v1/chat/completions',
    contentType: json,
    body: chatRequest('bench-chat', false),
    connections: 64,
    targets: ['nginx', 'haproxy', 'bare-undici', 'bare-http-proxy', 'portkey', 'litellm', 'tollgate'],
    judge: of => [
      ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.6),
      ratio('CPU over bare http-proxy-3', of('tollgate').cpuMicros, of('bare-http-proxy').cpuMicros, 1),
      ratio("p99 over the bare undici pass's", of('tollgate').p99Ms, of('bare-undici').p99Ms, 2),
      ratio("CPU over a sixth of Portkey's", of('tollgate').cpuMicros, of('portkey').cpuMicros / 6, 1),
    ],
  },
  {
    name: 'translated',
    title: 'chat of 1 KiB from a messages client, translated, next to a native one, 64 connections',
    path: '/v1/chat/completions',
    paths: { translated: '/v1/messages' },
    contentType: json,
    body: limitedRequest('bench-chat'),
    connections: 64,
    targets: ['tollgate', 'translated'],
    judge: of => [ratio('CPU over the native request', of('translated').cpuMicros, of('tollgate').cpuMicros, 1.6)],
  },
  {
    name: 'choices',
    title: 'chat of 1 KiB without parts that an operator may leave out, 64 connections',
    path: '/v1/chat/completions',
    contentType: json,
    body: chatRequest('bench-chat', false),
    connections: 64,
    targets: ['tollgate', 'without-lines', 'without-limits', 'without-charges', 'without-plugins'],
    judge: of =>
      (['without-lines', 'without-limits', 'without-charges', 'without-plugins'] as const).map(name =>
        ratio(`CPU ${name.replace('-', ' ')} over the whole`, of(name).cpuMicros, of('tollgate').cpuMicros, 1.1),
      ),
  },
  {
    name: 'conversation',
    title: 'conversation of 43 KiB with code, Chinese and tools, 64 connections',
    path: '/v1/chat/completions',
    contentType: json,
    body: conversationRequest('bench-chat'),
    connections: 64,
    targets: ['nginx', 'bare-undici', 'tollgate'],
    judge: of => [ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.5)],
  },
  {
    name: 'picture',
    title: 'chat with a picture of 1 MB as a data URL, 16 connections',
    path: '/v1/chat/completions',
    contentType: json,
    body: pictureRequest('bench-chat'),
    connections: 16,
    targets: ['nginx', 'bare-undici', 'tollgate'],
    judge: of => [
      ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.3),
      { text: 'event-loop delay p99, ms', value: of('tollgate').loopP99Ms, atMost: 5 },
    ],
  },
  {
    name: 'refusal',
    title:
      'chat refused for its limit (429), 64 connections; bare-node refuses it without a check, the bare pass answers it',
    path: '/v1/chat/completions',
    contentType: json,
    body: chatRequest('bench-full', false),
    connections: 64,
    isRefused: true,
    targets: ['bare-node', 'bare-undici', 'tollgate'],
    judge: of => [ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 0.6)],
  },
  {
    name: 'latency',
    title: 'added latency, 1 connection',
    path: '/v1/chat/completions',
    contentType: json,
    body: chatRequest('bench-chat', false),
    connections: 1,
    targets: ['direct', 'nginx', 'bare-undici', 'tollgate'],
    judge: of => [
      { text: 'p50 added, ms', value: of('tollgate').p50Ms - of('direct').p50Ms, atMost: 0.2 },
      { text: 'p99 added, ms', value: of('tollgate').p99Ms - of('direct').p99Ms, atMost: 1 },
    ],
  },
  {
    name: 'stream',
    title: 'chat stream, 100 tokens as SSE, 16 connections',
    path: '/v1/chat/completions',
    contentType: json,
    body: chatRequest('bench-chat', true),
    connections: 16,
    targets: ['nginx', 'bare-undici', 'tollgate'],
    judge: of => [ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.3)],
  },
  {
    name: 'image-answer',
    title: 'image answer, 4 × 4 MB as base64 in one body, 8 at once',
    path: '/v1/images/generations',
    contentType: json,
    body: image,
    connections: 8,
    count: 32,
    targets: ['nginx', 'bare-undici', 'portkey', 'tollgate'],
    judge: of => [
      ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.25),
      ratio("CPU over nginx's", of('tollgate').cpuMicros, of('nginx').cpuMicros, 1),
      ratio("CPU over a fifteenth of Portkey's", of('tollgate').cpuMicros, of('portkey').cpuMicros / 15, 1),
      { text: 'peak RSS, MB', value: of('tollgate').peakMegabytes, atMost: 300 },
      { text: 'event-loop delay p99, ms', value: of('tollgate').loopP99Ms, atMost: 5 },
    ],
  },
  {
    name: 'image-edit',
    title: 'image edit, 30 MB upload, 8 at once',
    path: '/v1/images/edits',
    contentType: edit.contentType,
    body: edit.body,
    connections: 8,
    count: 32,
    // Portkey 1.15.2 on Node 24 forwards an edit and then fails on its own answer's headers (500). Its other path
    // for forms does the same work with the same body and answers.
    paths: { portkey: '/v1/audio/transcriptions' },
    targets: ['nginx', 'bare-undici', 'portkey', 'tollgate'],
    judge: of => [
      ratio('CPU over the bare undici pass', of('tollgate').cpuMicros, of('bare-undici').cpuMicros, 1.3),
      ratio("CPU over nginx's", of('tollgate').cpuMicros, of('nginx').cpuMicros, 2.5),
      ratio("CPU over Portkey's", of('tollgate').cpuMicros, of('portkey').cpuMicros, 0.6),
      { text: 'peak RSS, MB', value: of('tollgate').peakMegabytes, atMost: 250 },
      { text: 'event-loop delay p99, ms', value: of('tollgate').loopP99Ms, atMost: 8 },
    ],
  },
  {
    name: 'image-edit-64',
    title: 'image edit, 30 MB upload, 64 at once',
    path: '/v1/images/edits',
    contentType: edit.contentType,
    body: edit.body,
    connections: 64,
    count: 128,
    targets: ['tollgate'],
    judge: of => [{ text: 'peak RSS, MB', value: of('tollgate').peakMegabytes, atMost: 350 }],
  },
]

function ratio(text: string, ours: number, theirs: number, atMost: number): Verdict {
  return { text, value: ours / theirs, atMost }
}
