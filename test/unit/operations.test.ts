import t from 'tap'
import { smallestRequest } from '../../src/cli/smallest-request.ts'
import { curlOf } from '../../src/console/pages/logs/curl-of.ts'
import { snippets } from '../../src/console/snippets.ts'
import { apiFormats } from '../../src/api-formats/index.ts'
import { operations } from '../../src/operations/index.ts'
import { shownOperations } from '../../src/operations/shown.ts'

type Row = Parameters<typeof curlOf>[0]

function row(operation: string, model: string, sent: readonly string[]): Row {
  return { operation, model, billing: null, forwarded: sent, dropped: [] } as unknown as Row
}

t.test('every operation has words in both languages, different from each other', async t => {
  for (const { name, words, fields = {} } of operations) {
    for (const { label, summary } of [words.en, words.zh]) t.ok(label !== '' && summary !== '', name)
    t.not(words.en.summary, words.zh.summary, name)
    for (const [field, { en, zh }] of Object.entries(fields))
      t.ok(en !== '' && zh !== '' && en !== zh, `${name} ${field}`)
  }
})

t.test("the content of an operation's requests matches its smallest one and its samples", async t => {
  const call = { baseUrl: 'http://gateway', path: '/path', model: 'm' }
  for (const { name, body, fields, smallest, samples } of operations) {
    t.equal(fields === undefined, body === 'none' || body === 'any', `${name}: fields`)
    const small = smallest?.('m')
    if (small) t.equal('form' in small ? 'form' : 'json', body, `${name}: smallest`)
    if (small && 'json' in small)
      for (const [field, { required }] of Object.entries(fields ?? {}))
        if (required) t.ok(field in small.json, `${name} ${field}`)
    const curl = samples?.(call)[0]?.source ?? ''
    if (curl !== '') t.equal(/ -F /.test(curl) ? 'form' : / -d /.test(curl) ? 'json' : 'none', body, `${name}: sample`)
  }
})

t.test('formats are the supported ones', async t => {
  for (const { name, style } of operations) t.ok(apiFormats.has(style), name)
})

t.test('a model is tested with text before images, and not at all without a small request', async t => {
  const smallestOf = (...names: string[]) => smallestRequest(operations, 'm', names)?.operation
  t.equal(smallestOf('image.edit', 'image.generate', 'responses', 'chat'), 'chat')
  t.equal(smallestOf('generate.embed', 'generate.count', 'generate'), 'generate')
  t.equal(smallestOf('image.edit', 'image.generate'), 'image.generate')
  t.equal(smallestOf('image.edit', 'my.own'), undefined)
})

t.test('the console is built with plain data of each operation', async t => {
  t.strictSame(JSON.parse(JSON.stringify(shownOperations)), shownOperations)
  t.equal(shownOperations.length, operations.length)
})

t.test("the command for a log row uses its operation's path", async t => {
  const commandOf = (operation: string, sent: readonly string[] = []) => curlOf(row(operation, 'a/b', sent), 'http://g')
  t.match(commandOf('generate.count', ['contents']), 'http://g/v1beta/models/a%2Fb:countTokens ')
  t.match(commandOf('generate.embed', ['content']), 'http://g/v1beta/models/a%2Fb:embedContent ')
  t.match(commandOf('image.edit', ['image', 'prompt']), "-F 'image=@<image>' \\\n  -F 'prompt=<prompt>'")
  t.match(commandOf('moderations', ['model', 'input']), `-d '{"model":"a/b","input":"<input>"}'`)
  t.notMatch(commandOf('models.list'), '-d')
})

t.test('first steps name the address, the key and a model that accepts them', async t => {
  const models = [{ name: 'painter', operations: ['image.generate'] }] as unknown as Parameters<typeof snippets>[2]
  const steps = snippets('http://g', 'sk-1', models)
  t.same(
    steps.map(step => step.name),
    ['curl', 'Python', 'Node', 'messages', 'generative'],
  )
  t.match(steps[0]?.text, /http:\/\/g\/v1\/images\/generations[^]*Bearer sk-1[^]*"model": "painter"/)
  for (const step of steps.slice(0, 2)) t.match(step.text, 'boat.png', `${step.name} saves the picture`)
  t.match(steps[2]?.text, "model: 'MODEL'")
  for (const { name, text } of steps) t.notMatch(text, /\{(?:baseUrl|secret|model)\}/, name)
})
