import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { ImageHead } from '../../plugins/image-tier-billing/image-head.ts'
import { fingerprintOf } from '../../plugins/image-tier-billing/idempotency.ts'
import { findBase64, findPicture, isLink, unescapeText } from '../../plugins/image-tier-billing/detect-picture.ts'
import { linksOfLinkOnlyText, mayBeLinkOnly } from '../../plugins/image-tier-billing/link-only-text.ts'
import { PictureBlocks } from '../../plugins/image-tier-billing/picture-blocks.ts'
import { TextChannel } from '../../plugins/image-tier-billing/text-channel.ts'
import { readForm } from '../../plugins/multipart-rewrite/read-form.ts'
import { Spool } from '../../plugins/multipart-rewrite/spool.ts'
import { countCharacters } from '../../plugins/token-usage/count-characters.ts'
import { measureText } from '../../plugins/token-usage/measure-text.ts'
import { pruneEvent } from '../../plugins/token-usage/prune-event.ts'
import { EventReader } from '../../plugins/token-usage/read-events.ts'
import { MemberReader } from '../../plugins/token-usage/read-members.ts'
import { EventReading, JsonReading } from '../../plugins/token-usage/reading.ts'
import { StreamEstimate } from '../../plugins/token-usage/stream-estimate.ts'
import { refusalFinder } from '../../src/admin/budget-refusals.ts'
import type { Parts } from '../../src/config/build.ts'
import { checkNames } from '../../src/config/check-names.ts'
import { compareSettings, loadPlan, showConfig, shownLines } from '../../src/config/index.ts'
import { checkWildcards } from '../../src/config/check-wildcards.ts'
import type { Rule } from '../../src/config/lint/rule.ts'
import { spendingRules } from '../../src/config/lint/spending.ts'
import { readYaml } from '../../src/config/load.ts'
import { Report } from '../../src/config/report.ts'
import { Source } from '../../src/config/source.ts'
import type { Tree } from '../../src/config/tree.ts'
import { gatherSecrets } from '../../src/config/secrets.ts'
import { provenStyle } from '../../src/api-formats/caller-style.ts'
import { openai } from '../../src/api-formats/openai.ts'
import { AnswerRedaction } from '../../src/engine/answer-redaction.ts'
import { Unpacker } from '../../src/engine/codings.ts'
import { bodyRefusals, scanObject } from '../../src/engine/fields.ts'
import { Gather } from '../../src/engine/gather.ts'
import { createRedaction } from '../../src/engine/redact.ts'
import { SecretSearch } from '../../src/engine/secret-search.ts'
import { takeOriginForm } from '../../src/engine/request-target.ts'
import type { ConfigSettings } from '../../src/domain/index.ts'
import { ObjectScan } from '../../src/wire/index.ts'
import { around, boundary, eventStreams, fill, form, forms, type Generator, jsonBodies } from './bodies.ts'

/** A reader of bytes, and all of its inputs. */
export type Reader = {
  readonly name: string
  readonly kinds: { readonly [name: string]: Generator }
  /** The maximum size of its input; absent for a complete body. */
  readonly bytesMax?: number
  read(bytes: Buffer): unknown
}

const json: Reader['kinds'] = jsonBodies
const members: Reader['kinds'] = {
  ...json,
  'backslashes, odd at the end': bytes => around('{"x":"', fill(bytes, '\\\\\\"'), '"}'),
}
const base64: Reader['kinds'] = {
  base64: bytes => fill(bytes, 'iVBORw0KGgoAAAANSUhEUgAA'),
  'escaped slashes': bytes => around('/9j/', fill(bytes, 'AAA\\/')),
  blanks: bytes => fill(bytes, ' \\n\\u0020'),
  'comments before a drawing': bytes => Buffer.from(fill(bytes * 0.75, '<!---->').toString('base64')),
  'a JPEG of fill bytes': bytes => around('/9j/', fill(bytes, '////')),
}
const reading = { dialect: openai, operation: 'responses', bytesPerToken: 4, bytesMax: 64 * 1024 * 1024 }

const partHeads: Reader['kinds'] = {
  'blanks within': bytes => around(disposition, '\r\nX-A: a', fill(bytes, ' \t'), 'b'),
  'blanks behind': bytes => around(disposition, '\r\nX-A: a', fill(bytes, ' ')),
  'a long name': bytes => around('Content-Disposition: form-data; name="', fill(bytes, 'x'), '"'),
  'quotes escaped': bytes => around(disposition, '; filename="', fill(bytes, '\\"'), '"'),
  parameters: bytes => around(disposition, fill(bytes, '; a=b')),
  semicolons: bytes => around(disposition, fill(bytes, '; ')),
}
const disposition = 'Content-Disposition: form-data; name="a"'

const texts: Reader['kinds'] = {
  'one run': bytes => fill(bytes, 'QUJD'),
  'runs with blanks': bytes => fill(bytes, 'QUJDREVGR0hJSktM \n'),
  'short runs': bytes => fill(bytes, 'QUJDREVGR0hJSk '),
  blanks: bytes => around('QUJDREVGR0hJSktM', fill(bytes, ' '), '.'),
  drawings: bytes => fill(bytes, '<svg '),
  'data URLs': bytes => fill(bytes, 'data:image/'),
  'a long data URL': bytes => around('data:image/', fill(bytes, 'a.+')),
  backslashes: bytes => around('\\', fill(bytes, '\\\\'), 'u00'),
  links: bytes => around('a://', fill(bytes, 'b'), ' c'),
  schemes: bytes => fill(bytes, 'a'),
}

const configurations: Reader['kinds'] = {
  models: bytes => around('models:\n', fill(bytes, '  "a-model": { family: chat, upstream: fake }\n')),
  comments: bytes => fill(bytes, '# a comment\n'),
  'one line': bytes => around('models: [', fill(bytes, 'a, '), 'b]'),
  'one text': bytes => around('name: "', fill(bytes, 'word \\"'), '"'),
  faults: bytes => fill(bytes, 'a: [}\n'),
}

const named: Reader['kinds'] = {
  // Each model has a name of its own, and falls back to the next one.
  models: bytes => withTree(entries(bytes, { models: i => `{ price: free, upstream: u, fallbacks: [m${i + 1}] }` })),
  groups: bytes =>
    withTree(entries(bytes, { models: () => '{ price: free, upstream: u }', groups: i => `{ models: [m${i >> 1}] }` })),
  'unknown fallbacks': bytes =>
    withTree(entries(bytes, { models: i => `{ price: free, upstream: u, fallbacks: [other-${i}] }` })),
  'unknown families': bytes =>
    withTree(entries(bytes, { models: i => `{ price: free, upstream: u, family: other-${i} }`, families: () => '{}' })),
  'unknown models of groups': bytes =>
    withTree(entries(bytes, { models: () => '{ price: free, upstream: u }', groups: i => `{ models: [other-${i}] }` })),
  'unknown models of aliases': bytes =>
    withTree(
      entries(bytes, { models: () => '{ price: free, upstream: u }', groups: i => `{ aliases: { a: other-${i} } }` }),
    ),
}

/** Each upstream has a secret of its own, and so has a comment. */
const withSecrets: Reader['kinds'] = {
  upstreams: bytes =>
    entries(bytes, {
      upstreams: i => `{ url: "https://${i}.example", credential: { header: x-key, value: "${1e15 + i}-secret" } }`,
      models: i => `{ family: f, upstream: m${i}, prices: { input: "0.${i}" } } # ${2e15 + i}-secret`,
    }),
}

/** The settings of models that a change has added. */
const added: Reader['kinds'] = {
  models: bytes => {
    const prices = Array.from({ length: bytes / 32 }, (_, i) => [`models.m${i}.prices.input`, '0.50'])
    return Buffer.from(JSON.stringify(Object.fromEntries(prices)))
  },
}

function findExpensive(bytes: Buffer): void {
  const models = Object.entries(settingsIn(bytes)).map(([name, price], i) => {
    const prices = new Map([['input', { micros: i + Number(price) }]])
    return [name, { name, enabled: true, free: false, limits: {}, prices }] as const
  })
  const plan = { models: new Map(models), currency: 'USD' }
  const rule = spendingRules.find(({ id }) => id === 'expensive-model-without-limits')
  for (const _finding of rule?.look({ plan } as unknown as Parameters<Rule['look']>[0]) ?? []);
}

/** Each of many budgets refuses requests. */
const refusing: Reader['kinds'] = {
  budgets: bytes => {
    const levels = Array.from({ length: bytes / 32 }, (_, i) => ({ level: 'key', name: `k${i}` }))
    return Buffer.from(JSON.stringify(levels))
  },
}

function findRefusals(bytes: Buffer): void {
  const levels = JSON.parse(bytes.toString()) as readonly object[]
  const data = { refused: true, per: 'total', amount: '1.00', spent: '1.00', currency: 'USD' }
  const events = levels.map((level, id) => ({ id, kind: 'budget.exhausted', at: 1, data: { ...data, ...level } }))
  const refusalOf = refusalFinder(events as unknown as Parameters<typeof refusalFinder>[0], 1)
  for (const level of levels) refusalOf({ ...level, per: 'total', amount: 1, spent: 1, soft: false } as never)
}

function compareWildcards(bytes: Buffer): void {
  const wildcards = Object.keys(settingsIn(bytes)).map(name => ({ name: `${name}/*`, free: true }))
  checkWildcards({ models: new Map(), wildcards } as unknown as Parts, new Report(new Source('gateway.yaml', '')))
}

/** Sections with as many entries as fit, with the names m0, m1 and so on. */
function entries(bytes: number, sections: { readonly [section: string]: (i: number) => string }): Buffer {
  const texts = Object.entries(sections).map(([name, write]) => {
    let text = `${name}:\n`
    for (let i = 0; text.length < bytes / Object.keys(sections).length; i++) text += `  m${i}: ${write(i)}\n`
    return text
  })
  return Buffer.from(texts.join(''))
}

function withTree(whole: Buffer): Buffer {
  const text = whole.toString()
  trees.set(whole, { source: new Source('gateway.yaml', text), root: readYaml(text).root as Tree })
  return whole
}
/** Each model has a mistake. */
const mistaken: Reader['kinds'] = {
  'no price': bytes => entries(bytes, { models: () => '{ family: f, upstream: u }' }),
  'unknown routes': bytes => entries(bytes, { models: i => `{ routes: other-${i} }`, route_sets: () => '[]' }),
}

async function checkWhole(bytes: Buffer): Promise<void> {
  await loadPlan({ file: 'gateway.yaml', text: bytes.toString(), env: {}, resolvePlugin: async () => undefined })
}

/** Only the check is measured. */
const trees = new WeakMap<Uint8Array, { readonly source: Source; readonly root: Tree }>()

function checkNamesIn(bytes: Buffer): void {
  const { source, root } = trees.get(bytes) as { readonly source: Source; readonly root: Tree }
  const report = new Report(source)
  report.follow(root)
  checkNames(root, {}, report)
}

/** The text, the values and the lines. */
async function showWhole(bytes: Buffer): Promise<void> {
  const text = bytes.toString()
  await showConfig('gateway.yaml', text, {})
  await shownLines({ file: 'gateway.yaml', text }, {})
}

function settingsIn(bytes: Buffer): ConfigSettings {
  return JSON.parse(bytes.toString()) as ConfigSettings
}

const quoted = new SecretSearch(['k9Asecret-keysecret-key'])

/** Every reader of untrusted bytes; `answers.ts` has those of image answers. */
export const readers: readonly Reader[] = [
  { name: 'fields', kinds: json, read: bytes => scanObject(bytes) },
  { name: 'fields in slices', kinds: json, read: bytes => scanSliced(bytes, 65_536) },
  { name: 'fields changed', kinds: json, read: bytes => changeFields(bytes) },
  {
    name: 'body byte by byte',
    kinds: { plain: bytes => fill(bytes, 'x') },
    bytesMax: 1 << 17,
    read: bytes => gatherBytes(bytes),
  },
  {
    name: 'body packed, byte by byte',
    kinds: {
      stored: bytes => gzipSync(fill(bytes, 'x'), { level: 0 }),
      noise: bytes => gzipSync(fill(bytes, 'x').map((_, i) => (i * 7919 * (i >> 5)) >> 3)),
    },
    bytesMax: 1 << 20,
    read: bytes => unpack(bytes),
  },
  { name: 'fingerprint', kinds: json, read: bytes => fingerprintOf('/', { kind: 'json', json: scanObject(bytes) }) },
  { name: 'text measure', kinds: json, read: bytes => measureText(Buffer.from(bytes)) },
  { name: 'characters', kinds: json, read: bytes => countAll(bytes) },
  {
    name: 'members',
    kinds: members,
    read: bytes => inChunks(bytes, 65_536, new MemberReader({ members: new Set(['usage']) }, ignore)),
  },
  {
    name: 'members byte by byte',
    kinds: members,
    bytesMax: 1 << 15,
    read: bytes => inChunks(bytes, 1, new MemberReader({ members: new Set(['usage']) }, ignore)),
  },
  {
    name: 'usage of JSON',
    kinds: json,
    read: bytes => ended(inChunks(bytes, 65_536, new JsonReading({ ...reading, removesUsage: false }))),
  },
  {
    name: 'events',
    kinds: eventStreams,
    read: bytes => inChunks(bytes, 65_536, new EventReader(never, { removes: true })),
  },
  {
    name: 'events in one chunk',
    kinds: eventStreams,
    read: bytes => inChunks(bytes, bytes.length, new EventReader(never, { removes: true })),
  },
  {
    name: 'events byte by byte',
    kinds: eventStreams,
    bytesMax: 1 << 15,
    read: bytes => inChunks(bytes, 1, new EventReader(never, { removes: true })),
  },
  {
    name: 'usage of events',
    kinds: eventStreams,
    read: bytes => ended(inChunks(bytes, 65_536, new EventReading({ ...reading, removesUsage: true }))),
  },
  { name: 'a large event', kinds: json, read: bytes => pruneEvent(bytes) },
  { name: 'an event told again', kinds: { plain: bytes => fill(bytes, 'word ') }, read: bytes => estimateTwice(bytes) },
  { name: 'form', kinds: forms, read: bytes => readWholeForm(bytes, 65_536) },
  { name: 'form byte by byte', kinds: forms, bytesMax: 1 << 15, read: bytes => readWholeForm(bytes, 1) },
  {
    name: 'head of a part',
    kinds: partHeads,
    bytesMax: 16_000,
    read: async bytes => {
      for (let i = 0; i < 40; i++) await readWholeForm(form([around(bytes, '\r\n\r\nx')]), 65_536)
    },
  },
  { name: 'head of an image', kinds: base64, bytesMax: 1 << 15, read: bytes => readHead(bytes) },
  { name: 'text of an image answer', kinds: texts, read: bytes => judgeText(bytes) },
  { name: 'pieces of a text', kinds: { ...texts, ...base64 }, read: bytes => readPieces(bytes) },
  { name: 'pictures of a string', kinds: { ...texts, ...base64 }, read: bytes => readBlocks(bytes) },
  {
    name: 'struck-out credential',
    kinds: {
      plain: bytes => fill(bytes, 'word '),
      'the credential': bytes => fill(bytes, 'secret-key'),
      'half of it': bytes => fill(bytes, 'secret-ke'),
      'letters escaped': bytes => fill(bytes, '\\u0073&#101;%63'),
      'escapes of escapes': bytes => fill(bytes, '\\\\u0026#x0073;%2565'),
      backslashes: bytes => fill(bytes, '\\'),
      base64: bytes => fill(bytes, 'c2VjcmV0LWtl'),
    },
    read: bytes => redact(bytes, 'secret-key'),
  },
  {
    name: 'key in a success',
    kinds: {
      plain: bytes => fill(bytes, 'word '),
      'half of it': bytes => fill(bytes, 'k9Asecret-keysecret-ke'),
      'letters escaped': bytes => fill(bytes, '\\u006b&#57;%41'),
      ampersands: bytes => fill(bytes, '&amp;'),
      percents: bytes => fill(bytes, '%E6'),
    },
    read: bytes => inChunks(bytes, 65_536, new AnswerRedaction(quoted)),
  },
  {
    name: 'key in a success, byte by byte',
    kinds: {
      'one run': bytes => fill(bytes, 'word'),
      'half of it': bytes => fill(bytes, 'k9Asecret-keysecret-ke'),
      'letters escaped': bytes => fill(bytes, '\\u006b&#57;%41'),
      backslashes: bytes => fill(bytes, '\\'),
    },
    bytesMax: 1 << 13,
    read: bytes => inChunks(bytes, 1, new AnswerRedaction(quoted)),
  },
  {
    name: 'target of a request',
    kinds: {
      'absolute, with a fragment': bytes => around('http://', fill(bytes, 'a'), '#'),
      models: bytes => around(fill(bytes / 2, '/models/'), fill(bytes / 2, ':aA'), '/'),
      'colons after models': bytes => fill(bytes, '/models/:'),
    },
    bytesMax: 16_000,
    read: bytes => repeat(40, () => readTarget(bytes.toString())),
  },
  {
    name: 'secrets of a broken file',
    kinds: {
      blanks: bytes => around('Bearer', fill(bytes, ' '), '"'),
      users: bytes => fill(bytes, '://a:'),
      keys: bytes => around('api_key', fill(bytes, ' '), ':', fill(bytes, ' '), ','),
      tokens: bytes => around('token', fill(bytes, ' '), ':', fill(bytes, ' '), ','),
    },
    read: bytes => gatherSecrets(undefined, '', []).mask(bytes.toString()),
  },
  { name: 'names of a configuration', kinds: named, bytesMax: 1 << 17, read: checkNamesIn },
  { name: 'mistakes of a configuration', kinds: mistaken, bytesMax: 1 << 17, read: checkWhole },
  { name: 'shown configuration', kinds: withSecrets, bytesMax: 1 << 17, read: showWhole },
  { name: 'expensive models', kinds: added, bytesMax: 1 << 17, read: findExpensive },
  { name: 'wildcards', kinds: added, bytesMax: 1 << 17, read: compareWildcards },
  { name: 'budgets that refuse', kinds: refusing, bytesMax: 1 << 17, read: findRefusals },
  { name: 'changed settings', kinds: added, bytesMax: 1 << 17, read: bytes => compareSettings({}, settingsIn(bytes)) },
  { name: 'configuration', kinds: configurations, bytesMax: 1 << 14, read: bytes => readYaml(bytes.toString()) },
]

function ignore(): void {}

function never(): boolean {
  return false
}

function scanSliced(bytes: Buffer, sliceBytes: number): void {
  const scan = new ObjectScan(bytes, bodyRefusals)
  while (!scan.read(sliceBytes));
}

/** The changes of a request on its way: a model renamed, a field added, others removed; then one encoding. */
function changeFields(bytes: Buffer): Buffer {
  const json = scanObject(bytes).with(new Map([['model', 'another']]))
  return json.with(new Map([['stream_options', { include_usage: true }]])).pick(name => name !== 'x').bytes
}

function gatherBytes(bytes: Buffer): Buffer {
  const gather = new Gather(undefined)
  for (let i = 0; i < bytes.length; i++) gather.add(bytes.subarray(i, i + 1))
  return gather.take()
}

/** Decodes a body that arrives byte by byte. */
function unpack(packed: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    const unpacker = new Unpacker('gzip', {
      data: chunk => (bytes += chunk.length),
      end: () => resolve(bytes),
      fault: reject,
      drain: ignore,
    })
    for (let i = 0; i < packed.length; i++) unpacker.write(packed.subarray(i, i + 1))
    unpacker.end()
  })
}

function countAll(bytes: Buffer): number | null {
  const json = scanObject(around('{"input":"', fill(bytes.length, '\\u6e2f\\n😀'), '"}'))
  return countCharacters({ kind: 'json', json }, 'input')
}

/** Writes bytes in chunks and drops the reader's results. */
function inChunks<T extends { write(chunk: Buffer): unknown }>(bytes: Buffer, chunkBytes: number, reader: T): T {
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.write(bytes.subarray(at, at + chunkBytes))
  return reader
}

function ended(reader: { end(): unknown; usage(): unknown }): unknown {
  reader.end()
  return reader.usage()
}

function estimateTwice(bytes: Buffer): number {
  const estimate = new StreamEstimate(4)
  estimate.add(bytes)
  estimate.add(around(bytes.subarray(0, bytes.length / 2), 'x', bytes.subarray(bytes.length / 2)))
  return estimate.tokens
}

async function readWholeForm(bytes: Buffer, chunkBytes: number): Promise<void> {
  const files = { take: () => Promise.reject(new Error('no file is wanted')), give: ignore, drop: ignore }
  const spool = new Spool(files, bytes.length, bytes.length)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, i) =>
    Buffer.from(bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes)),
  )
  const limits = { textBytesMax: 65_536, textFields: new Set<string>() }
  await readForm(Readable.from(chunks), boundary, spool, limits).catch(ignore)
  spool.discard()
}

function readHead(bytes: Buffer): void {
  const head = new ImageHead({ link: false })
  head.write(bytes, 0, bytes.length)
  head.end()
}

function judgeText(bytes: Buffer): void {
  const text = unescapeText(bytes)
  for (const judge of [findPicture, findBase64, isLink, linksOfLinkOnlyText, mayBeLinkOnly]) judge(text)
}

function readPieces(bytes: Buffer): void {
  const channel = new TextChannel(true)
  for (let at = 0; at < bytes.length; at += 80) channel.write(bytes.toString('latin1', at, at + 80), at)
  channel.end()
}

function readBlocks(bytes: Buffer): void {
  const blocks = new PictureBlocks({ link: false })
  for (let at = 0; at < bytes.length; at += 16_384) blocks.write(bytes, at, Math.min(bytes.length, at + 16_384), at)
}

function readTarget(url: string): void {
  takeOriginForm({ url, headers: {}, rawHeaders: [] } as unknown as IncomingMessage)
  provenStyle(url, {})
}

function redact(bytes: Buffer, secret: string): void {
  const redaction = createRedaction([`Bearer ${secret}`])
  if (redaction) inChunks(bytes, 65_536, redaction).end()
}

function repeat(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work()
}
