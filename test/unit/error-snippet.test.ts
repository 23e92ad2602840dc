import t from 'tap'
import { clipSnippet, ErrorSnippet, requestWords } from '../../src/engine/error-snippet.ts'
import type { JsonObjectView } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'

// The log's excerpt of an upstream's error never holds a key, or any text that the caller may have sent.

const prompt = 'a harbour in the morning with seven boats and a lighthouse that nobody has lit for many years'

function hear(...chunks: readonly string[]): string | null {
  const overheard = new ErrorSnippet(['ab/cd+ef=gh/ij'], '')
  for (const chunk of chunks) overheard.write(Buffer.from(chunk))
  return overheard.words
}

t.test('long quotations are not stored, whatever the quotes', t => {
  const samples = [
    `Invalid prompt: "${prompt}"`,
    `Invalid prompt: "${prompt.repeat(20)}"`,
    `Invalid prompt: '${prompt}'`,
    `Invalid prompt: “${prompt}”`,
    `Invalid prompt: \`${prompt}\``,
    `Invalid prompt: "Draw John's house and don't ${prompt}"`,
    `Invalid prompt: 'Draw John's house and don't ${prompt}'`,
  ]
  for (const text of samples) {
    const kept = clipSnippet(text)
    t.match(kept, /^Invalid prompt: ["'`“]…/, caseName({ text: text.slice(0, 40) }))
    t.notMatch(kept, /harbour|lighthouse|John/, caseName({ text: text.slice(0, 40) }))
  }
  t.equal(clipSnippet(`It's the 'size' that can't be "2048x2048".`), `It's the 'size' that can't be "2048x2048".`)
  t.end()
})

t.test('a short word is stored as it is, and a short key is not', t => {
  for (const word of ['', 'key', 'rpm', '60', 'gpt_4.1', 'abcdefghij'])
    t.equal(clipSnippet(word), clipSnippet(` ${word}`), caseName({ word }))
  t.equal(clipSnippet('sk-abcdefgh'), '…')
  t.equal(clipSnippet('sk_abcdefgh'), '…')
  t.end()
})

t.test('endless words take linear time', t => {
  for (const mark of ['"', "'", '`', '“', '«', '‘']) {
    const kept = clipSnippet(mark.repeat(100_000))
    t.ok(kept.length <= 301, caseName({ mark }))
  }
  t.end()
})

t.test('a key is removed although JSON has escaped it', t => {
  const body = '{"error":{"message":"Incorrect API key ab\\/cd\\u002bef\\u003dgh\\/ij."}}'
  t.notMatch(hear(body), /ab\/cd/)
  t.match(hear(body), /Incorrect API key/)
  t.match(hear(body.slice(0, 20), body.slice(20)), /Incorrect API key/, 'in two pieces too')
  t.end()
})

t.test('for an answer that repeats the request, the text before the repetition is stored', t => {
  const long = '0123456789 '.repeat(1_000)
  const body = `{"detail":[{"type":"missing","msg":"Field required","input":{"message":"${prompt}","x":"${long}"}}]}`
  t.equal(hear(body), 'Field required')
  t.equal(hear(`{"detail":[{"type":"missing","input":{"message":"${prompt}","x":"${long}"}}]}`), null)
  t.equal(hear(`[{"input":"${prompt} ${long}"}]`), null)
  t.end()
})

t.test("the request's words are not stored, quoted or not", t => {
  const own = `${prompt} ${'and more of it '.repeat(50)}`
  for (const [snippet, kept] of [
    [`Refused: ${prompt} is not allowed`, 'Refused: …is not allowed'],
    [prompt, '…'],
    ['a harbour in the morning', '…'],
    ['The size is not known', 'The size is not known'],
    [`x${prompt.slice(7, 40)}y and z${prompt.slice(11, 60)}`, 'x…y and z…'],
  ] as const)
    t.equal(clipSnippet(snippet, own), kept, caseName({ snippet }))
  t.equal(new ErrorSnippet([], undefined).words, null)
  t.end()
})

t.test("the words of a request are those of all its fields except the model's name", t => {
  const text = JSON.stringify({ model: 'm-1', input: ['a', { text: 'b\n c' }], n: 2 })
  const bytes = Buffer.from(text)
  const value = JSON.parse(text) as { readonly [name: string]: never }
  const json = {
    bytes,
    names: () => Object.keys(value),
    get: (name: string) => value[name],
    raw: (name: string) => Buffer.from(JSON.stringify(value[name])),
  } as unknown as JsonObjectView
  t.same(requestWords({ kind: 'json', json })?.split(' ').toSorted(), ['a', 'b', 'c'])
  const long = { ...json, raw: () => Buffer.alloc(100_000) } as unknown as JsonObjectView
  t.equal(requestWords({ kind: 'json', json: long }), undefined)
  t.equal(requestWords({ kind: 'none' }), '')
  t.end()
})
