import type { Readable } from 'node:stream'
import * as fc from 'fast-check'
import { Failure, type Part } from '../../../src/domain/index.ts'
import { readForm } from '../../../src/simulator/read-form.ts'
import { readAll, startPlugin, streamOf } from '../../unit/multipart-rewrite-kit.ts'
import { cuts, type Fuzzer, insist, pieces } from '../fuzzer.ts'
import type { Meter } from '../meter.ts'

/** Bytes, one character per byte. */
type FormCase = { readonly bytes: string; readonly cuts: readonly number[] }
/** A part as one reader returns it, one character per byte. */
type Read = { readonly name: string; readonly file: boolean; readonly bytes: string }

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

const by = 'xY'
const type = `multipart/form-data; boundary=${by}`

const heads = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        fc.constantFrom('model', 'prompt', 'image', 'image[]', 'image[1]', 'mask', 'n', 'size', 'é', '船', 'a b', 'x'),
        fc.constantFrom(
          '',
          '',
          '; filename="a.png"',
          '; filename="a b.jpg"',
          '; filename="船.png"',
          '; filename=a.png',
        ),
        fc.constantFrom(
          '',
          '',
          '\r\nContent-Type: image/png',
          '\r\nContent-Type: text/plain',
          '\r\ncontent-type: text/plain; charset=utf-8',
        ),
      )
      .map(([name, file, more]) => `Content-Disposition: form-data; name="${name}"${file}${more}`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'content-disposition:form-data;name=c',
      'Content-Disposition: form-data; name="a\\"b"',
      'Content-Disposition: form-data',
      'Content-Disposition: form-data; filename="n"; name="d"',
      'Content-Disposition: attachment; name="a"',
      'X-A: 1',
      'Content-Disposition: form-data; name="a"; name="b"',
      "Content-Disposition: form-data; name=e; filename*=UTF-8''x",
      'Content-Disposition: form-data; name="f"; filename=""',
      'Content-Disposition: form-data; name="a"\r\n folded: 1',
      'Content-Type: application/octet-stream\r\nContent-Disposition: form-data; name="image"',
      'Content-Disposition : form-data; name=a',
      'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64',
      'Content-Disposition: form-data; name="a%22"',
      'Content-Disposition: form-data; name="a";',
      'Content-Disposition: form-data; name="a" ; filename="b"',
      'Content-Disposition: Form-Data; NAME="a"',
    ),
  },
)
const content = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '1',
      'a-model',
      '1024x1024',
      'a boat\r\non the sea\n',
      '\r\n',
      '\r',
      '-',
      '--',
      '\r\n-',
      '\r\n--',
      '\r\n--x',
      '--xYz',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\r\n--xY', '--xY', '\r\n--xYz', '\r\n--xY-', '\n--xY', '\r\n--xY--', '\r\n\r\n--xY  '),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('x', '\r\n', '\r\n-', '\r\n--x', '船'), fc.integer({ min: 1, max: 9000 }))
      .map(([unit, count]) => unit.repeat(Math.ceil(count / unit.length))),
  },
)
const part = fc.tuple(heads, content)
const valid = fc
  .tuple(
    fc.array(part, { maxLength: 5 }),
    fc.constantFrom('', '', '\r\n', 'before\r\n'),
    fc.constantFrom('\r\n', '\r\n', '', '\r\n\r\n', ' ', 'behind'),
  )
  .map(([parts, before, end]) =>
    Buffer.from(
      `${before}${parts.map(([head, text]) => `--${by}\r\n${head}\r\n\r\n${text}\r\n`).join('')}--${by}--${end}`,
    ),
  )
const slip = fc.record({
  at: fc.nat(1_000_000),
  how: fc.constantFrom('drop', 'put', 'put', 'cut'),
  text: fc.constantFrom(
    '\n',
    '\r',
    '\r\n',
    '-',
    '"',
    ':',
    ';',
    '\0',
    ' ',
    '--xY',
    '--xY\r\n',
    '--xY--',
    '\r\n--xY \r\n',
    '\xff',
    '=',
  ),
})
const slips = fc.oneof(
  { weight: 7, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(slip, { minLength: 1, maxLength: 2 }) },
)

export const forms: Fuzzer<FormCase> = {
  name: 'forms',
  promise:
    'a form is read alike whatever its chunks are, or refused; a well-formed one as a strict reader reads it, and what is sent is well formed',
  cases: fc.record({
    bytes: fc.tuple(valid, slips).map(([bytes, all]) => all.reduce(slipInto, bytes).toString('latin1')),
    cuts,
  }),
  short: 500,
  change: { text: 'bytes' },
  async open({ planted, meter }) {
    const ends: (() => Promise<void>)[] = []
    const plugin = await startPlugin({ teardown: end => void ends.push(end) })
    const read = reader(plugin, meter, planted)
    return {
      async try({ bytes: text, cuts: lengths }) {
        const bytes = Buffer.from(text, 'latin1')
        await judge(bytes, await read(bytes, lengths), await read(bytes, bytes.length > 3_000 ? [7, 1, 1000] : [1]))
        return 2 * bytes.length
      },
      async close() {
        for (const end of ends) await end()
      },
    }
  },
}

function slipInto(from: Buffer, { at: far, how, text }: { at: number; how: string; text: string }): Buffer {
  const at = from.length === 0 ? 0 : far % from.length
  if (how === 'cut') return from.subarray(0, at)
  const put = Buffer.from(how === 'drop' ? '' : text, 'latin1')
  return Buffer.concat([from.subarray(0, at), put, from.subarray(how === 'drop' ? at + 1 : at)])
}

/** The gateway's result, and each reader's result for the form that is sent. */
type Outcome = { readonly read: readonly Read[]; readonly sent: Buffer; readonly sentType: string } | string
type Reader = (bytes: Buffer, lengths: readonly number[]) => Promise<Outcome>

/** The gateway's reader, through the plugin; `planted` drops the last byte of every file. */
function reader(plugin: Awaited<ReturnType<typeof startPlugin>>, meter: Meter, planted: boolean): Reader {
  return async (bytes, lengths) => {
    const source: Readable = streamOf(...pieces(bytes, lengths))
    try {
      const form = await plugin.read(source, { contentType: type, bytes: bytes.length })
      try {
        const encoded = form.encode(form.parts)
        const read = await Promise.all(form.parts.map(one => toRead(one, planted)))
        return { read, sent: await readAll(encoded.open()), sentType: encoded.contentType }
      } finally {
        meter.turn(() => form.discard())
      }
    } catch (error) {
      source.destroy()
      if (error instanceof Failure) return error.code
      throw error
    }
  }
}

async function toRead(one: Part, planted: boolean): Promise<Read> {
  if (one.kind === 'text') return { name: one.name, file: false, bytes: latin1(one.value) }
  const bytes = await readAll(one.open())
  return { name: one.name, file: true, bytes: bytes.subarray(0, planted ? -1 : undefined).toString('latin1') }
}

async function judge(bytes: Buffer, ours: Outcome, again: Outcome): Promise<void> {
  const read = show(ours)
  insist(read === show(again), () => `depends on its chunks: ${read} or ${show(again)}`)
  if (typeof ours === 'string') return
  const { sent, sentType } = ours
  const sentParts = show(readStrictly(sent, sentType), true)
  insist(sentParts === show(ours, true), () => `ours ${read}, sent ${sentParts}`)
  const platforms = show(await readByPlatform(sent, sentType), true)
  insist(platforms === sentParts, () => `sent ${sentParts}, the platform reads ${platforms}`)
  const strict = readStrictly(bytes, type)
  if (typeof strict === 'string' || isOurs(bytes, strict)) return
  insist(show(strict) === read, () => `ours ${read}, a strict reader's ${show(strict)}`)
}

/**
 * Cases in which busboy and the gateway deviate from RFC 7578 (`docs/decisions/0025-busboy-reads-forms.md`): escapes in
 * quotes, empty file inputs, types and charsets, texts that are not UTF-8.
 */
function isOurs(bytes: Buffer, strict: readonly Read[]): boolean {
  const text = bytes.toString('latin1')
  if (/\\"|filename=""|octet-stream|charset/i.test(text)) return true
  return strict.some(({ file, bytes }) => !file && Buffer.from(bytes, 'latin1').toString().includes('\ufffd'))
}

/** @param isSent with names as they are sent: names of files without brackets, quotes escaped */
function show(outcome: Outcome | readonly Read[], isSent = false): string {
  if (typeof outcome === 'string') return outcome
  const read = 'read' in outcome ? outcome.read : outcome
  const nameOf = ({ name, file }: Read): string => {
    if (!isSent) return name
    return (file ? name.replace(/(?<=.)\[\d*\]$/, '') : name).replaceAll('"', '%22')
  }
  return JSON.stringify(read.map(one => [nameOf(one), one.bytes, one.file])).slice(0, 2_000)
}

/** The simulator's reader, which accepts only well-formed forms. */
function readStrictly(bytes: Buffer, contentType: string): readonly Read[] | string {
  try {
    return readForm(bytes, contentType).map(({ name, fileName, content }) => ({
      name,
      file: fileName !== undefined,
      bytes: content.toString('latin1'),
    }))
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : ''}`
  }
}

async function readByPlatform(bytes: Buffer, type: string): Promise<readonly Read[] | string> {
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
    return await Promise.all(
      Array.from(form, async ([name, value]): Promise<Read> => {
        if (typeof value === 'string') return { name, file: false, bytes: latin1(value) }
        return { name, file: true, bytes: Buffer.from(await value.arrayBuffer()).toString('latin1') }
      }),
    )
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : ''}`
  }
}
