import t from 'tap'
import type { Body } from '../../src/domain/index.ts'
import type { Section } from '../../plugins/translate/schema.ts'
import { shapeRequest } from '../../plugins/translate/shape-request.ts'
import { scanObject } from '../../src/engine/fields.ts'

const random = { bytes: (size: number) => Buffer.alloc(size) }

/** The request to the vendor for a client's body. */
function shape(section: object, body: object | string): { readonly value: unknown; readonly text: string } {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const request = { model: 'm', n: 1, requestedSize: undefined }
  const json: Body = { kind: 'json', json: scanObject(Buffer.from(text)) }
  const shaped = shapeRequest(section as Section, { body: json, ...request }, random)
  if (shaped.body.kind !== 'composed') throw new Error('nothing was composed')
  return { value: shaped.value, text: (shaped.body.whole ?? Buffer.alloc(0)).toString() }
}

t.test('[10.4] no client text reaches beyond the values that the file names', async t => {
  const section = { request: { quality: '{quality}' }, values: { quality: { low: '1K', otherwise: '2K' } } }
  for (const quality of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
    t.strictSame(JSON.parse(shape(section, { quality }).text), { quality: '2K' }, quality)
})

t.test('[10.4] client texts stay texts, whatever they contain', async t => {
  const section = { request: { p: '{prompt}', q: 'say {prompt}!' } }
  for (const prompt of ['{model}', '{{', '"}],"x":[{"', '\u0000\n\r', '{image.base64}']) {
    const { text } = shape(section, { prompt })
    t.strictSame(JSON.parse(text), { p: prompt, q: `say ${prompt}!` }, JSON.stringify(prompt))
  }
})

t.test('[10.4] fields with inherited names are ordinary fields', async t => {
  const { text } = shape(
    { request: { p: '{prompt}' }, rest: '.' },
    '{"prompt":"x","constructor":1,"__proto__":{"y":1}}',
  )
  const sent = JSON.parse(text) as object
  t.equal(Object.hasOwn(sent, 'constructor'), true)
  t.equal(Object.hasOwn(sent, 'y'), false)
  t.equal(Object.getPrototypeOf(sent), Object.prototype)
})
