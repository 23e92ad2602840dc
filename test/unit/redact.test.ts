import t from 'tap'
import { createRedaction, strikeOut } from '../../src/engine/redact.ts'
import { judge } from '../../src/engine/vendor-keys/judge.ts'
import { caseName } from '../harness/case-name.ts'

const secret = 'abc/def/ghi+jkl==SECRET'

t.test('a secret is struck out in whatever form it is quoted, and as many bytes are left', async t => {
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

t.test('a code that quotes our key goes nowhere as it is', async t => {
  const refusal = { status: 401, isInside: false, body: { error: { code: `bad ${secret}` } }, retryAfterMs: undefined }
  const { code } = judge(refusal, [], text => strikeOut(text, [secret]))
  t.match(code, /^401 bad_/)
  t.notMatch(code, 'SECRET')
})
