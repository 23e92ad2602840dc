import t from 'tap'
import { AnswerRedaction, mayHave, soughtSecrets } from '../../src/engine/answer-redaction.ts'
import { createRedaction, strikeOut } from '../../src/engine/redact.ts'
import { classify } from '../../src/engine/classify-response/classify.ts'
import type { Upstream } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'

const secret = 'abc/def/ghi+jkl==SECRET'

t.test('a secret is removed in any quoted form, keeping the number of bytes', async t => {
  const forms = {
    plain: secret,
    slashes: secret.replaceAll('/', '\\/'),
    unicode: secret.replaceAll('=', '\\u003d').replaceAll('+', '\\u002B'),
    percent: encodeURIComponent(secret),
    'small percent': encodeURIComponent(secret).replaceAll(/%../g, hex => hex.toLowerCase()),
  }
  for (const [form, quoted] of Object.entries(forms)) {
    const name = caseName({ form })
    t.equal(strikeOut(`a ${quoted} b`, [`Bearer ${secret}`]), `a ${'*'.repeat(quoted.length)} b`, name)
    const redaction = createRedaction([secret])
    const pieces = [...Buffer.from(`a ${quoted} b`)].map(
      byte => redaction?.write(Buffer.from([byte])) ?? Buffer.alloc(0),
    )
    t.equal(
      Buffer.concat([...pieces, redaction?.end() ?? Buffer.alloc(0)]).toString(),
      `a ${'*'.repeat(quoted.length)} b`,
      `${name}, byte by byte`,
    )
  }
})

t.test('a code that quotes our key is never passed on', async t => {
  const refusal = { status: 401, isInside: false, body: { error: { code: `bad ${secret}` } }, retryAfterMs: undefined }
  const { code } = classify(refusal, [], text => strikeOut(text, [secret]))
  t.match(code, /^401 bad_/)
  t.notMatch(code, 'SECRET')
})

/** An upstream to which these values are sent. */
const sent = (...value: string[]): Upstream =>
  ({
    url: 'https://vendor.example/v1',
    credential: value.map(one => ({ kind: 'header', name: 'x', value: one })),
    headers: {},
    query: {},
  }) as unknown as Upstream

const live = 'sk-live/9f8e7d6c5b4a+Quoted=='
const guard = (...secrets: string[]): AnswerRedaction => new AnswerRedaction(soughtSecrets(sent(...secrets), []))

t.test('an answer without a secret passes unchanged, without a copy', t => {
  const stage = guard(live, `${live}more`)
  for (const text of [
    'data: {"a":"sk-live sk-live/ % %2"}\n\n',
    'data: [DONE]\n\n',
    'iVBORw0KGgo',
    '{"id":"c1"}',
    's\n',
    '',
  ]) {
    const chunk = Buffer.from(text)
    t.equal(stage.write(chunk), chunk, caseName({ text }))
  }
  t.equal(stage.end().length, 0)
  t.end()
})

t.test('only a possible beginning of a secret is held back, in its own memory', t => {
  const stage = guard(live)
  const chunk = Buffer.from(`data: ${live.slice(0, 12)}`)
  t.equal(stage.write(chunk).toString(), 'data: ')
  chunk.fill(0)
  t.equal(stage.write(Buffer.from(' no, another')).toString(), `${live.slice(0, 12)} no, another`)
  t.equal(stage.write(Buffer.from(live.replace('/', '\\/').slice(0, -1))).toString(), '')
  t.equal(stage.write(Buffer.from('= and sk-')).toString(), `${'*'.repeat(live.length + 1)} and `)
  t.equal(stage.end().toString(), 'sk-')
  t.end()
})

t.test('of two secrets with a common beginning the longer is removed whole, wherever it is split', t => {
  const longer = `${live}9more`
  const text = `a ${longer} b ${live} c ${encodeURIComponent(longer)}`
  const wanted = `a ${'*'.repeat(longer.length)} b ${'*'.repeat(live.length)} c ${'*'.repeat(encodeURIComponent(longer).length)}`
  for (let cut = 0; cut <= text.length; cut++) {
    const stage = guard(live, longer)
    const out = [stage.write(Buffer.from(text.slice(0, cut))), stage.write(Buffer.from(text.slice(cut))), stage.end()]
    t.equal(Buffer.concat(out).toString(), wanted, caseName({ cut }))
  }
  t.end()
})

t.test('possible words are not searched for in answers', t => {
  t.ok(soughtSecrets(sent('Bearer ollama', 'sk-no-key-required', 'Bearer none', '0123456789'), ['lm-studio']).isEmpty)
  t.notOk(mayHave(soughtSecrets(sent('ollama'), []), 'ollama'))
  t.ok(mayHave(soughtSecrets(sent(`Bearer ${live}`), []), `x ${encodeURIComponent(live)}`))
  t.notOk(soughtSecrets(sent('x'), [live]).isEmpty, 'the signing key is')
  t.end()
})
