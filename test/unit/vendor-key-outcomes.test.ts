import t from 'tap'
import { FirstEventReader, insideBytesMax } from '../../src/engine/classify-response/first-event-error.ts'
import { classify, readRefusal, refusalInside } from '../../src/engine/classify-response/classify.ts'
import { mayBeError } from '../../src/engine/classify-response/may-be-error.ts'
import { limitCodes, outcomes } from '../../src/engine/classify-response/outcome-table.ts'
import { caseName } from '../harness/case-name.ts'

const refuse = (status: number, body: unknown = {}, wait?: number) =>
  classify(readRefusal(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), wait))

const noCredit =
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'

t.test('every row of the table applies to each of its statuses and codes', async t => {
  for (const { status, says = [], class: saleClass, key } of outcomes)
    for (const one of status)
      for (const message of says)
        t.match(refuse(one, { error: { type: 'a_vendor_word', message } }), { class: saleClass, key }, message)
  for (const { status, mentions = [], where = '', class: saleClass, key } of outcomes)
    for (const one of status)
      for (const mentioned of mentions) {
        // The first number of `where` is the larger one.
        const [larger = ''] = where.split(' > ')
        const fill = (isLarger: boolean): string =>
          mentioned.replaceAll(/\{(\w+)\}/g, (_, name: string) => ((name === larger) === isLarger ? '40,012' : '0'))
        const say = (message: string) => refuse(one, { error: { message, code: one } })
        t.match(say(`So: ${fill(true).toUpperCase()}.`), { class: saleClass, key }, caseName({ one, mentioned }))
        if (where !== '') t.not(say(fill(false)).key, key, caseName({ otherwise: mentioned, one }))
      }
  for (const { status, at, codes, says, mentions, when, class: saleClass, key } of outcomes)
    for (const one of says || at || mentions ? [] : status)
      for (const code of codes ?? [when === 'code' ? 'a_vendor_word' : undefined]) {
        const body = code === undefined ? 'not JSON' : { error: { code, message: 'words' } }
        const judged = refuse(one, body, when === 'wait' ? 1_000 : undefined)
        t.match(judged, { class: saleClass, key }, caseName({ one, code }))
        t.equal(judged.code, code === undefined ? String(one) : `${one} ${code}`, caseName({ one, code }))
      }
})

t.test('known vendor answers have their meaning', async t => {
  const rows: readonly (readonly [string, number, unknown, string, string, number?])[] = [
    [
      'a key that is wrong',
      401,
      { error: { code: 'invalid_api_key', type: 'invalid_request_error' } },
      'not_sold',
      'invalid',
    ],
    [
      'a key that is wrong, told by a type',
      401,
      { type: 'error', error: { type: 'authentication_error' } },
      'not_sold',
      'invalid',
    ],
    [
      'a key that is wrong, told by a 400 with a reason',
      400,
      { error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } },
      'not_sold',
      'invalid',
    ],
    [
      'the same as a list',
      400,
      [{ error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } }],
      'not_sold',
      'invalid',
    ],
    ['a 403 whose reason is the key', 403, { code: 403, reason: 'INVALID_API_KEY' }, 'not_sold', 'invalid'],
    ['no money told by a 429', 429, { error: { code: 'insufficient_quota' } }, 'not_sold', 'no_credit'],
    ['no money told by a 400', 400, { code: 400, reason: 'BILLING_BALANCE_NOT_ENOUGH' }, 'not_sold', 'no_credit'],
    [
      'a spend limit told by a 429',
      429,
      { error: { details: { error_code: 'enforced_spend_limit_reached' } } },
      'not_sold',
      'no_credit',
    ],
    ['no money told by a 402', 402, { error: { code: 402 } }, 'not_sold', 'no_credit'],
    ['too much in flight, told by a 402 with a wait', 402, { error: { code: 402 } }, 'not_sold', 'cooling', 2_000],
    ['a rate limit', 429, { error: { code: 'rate_limit_exceeded' } }, 'not_sold', 'cooling'],
    ['a model that is not the key’s', 403, { error: { type: 'permission_error' } }, 'not_sold', 'model'],
    ['a model that is not there', 404, { error: { code: 'model_not_found' } }, 'not_sold', 'model'],
    ['a path that is not there', 404, '<html>', 'final', 'none'],
    [
      'a door that is shut to this caller’s words',
      403,
      { error: { code: 403, metadata: { flagged_input: 'x' } } },
      'final',
      'none',
    ],
    ['a bad request', 400, { error: { code: 'invalid_request_error' } }, 'final', 'none'],
    [
      'a request that says "invalid_api_key"',
      400,
      { error: { message: 'invalid_api_key insufficient_quota' } },
      'final',
      'none',
    ],
    ['a refusal of contents', 400, { error: { code: 'content_policy_violation' } }, 'final', 'none'],
    ['too busy, in the vendor’s words', 503, { error: { type: 'overloaded' } }, 'not_sold', 'none'],
    ['too busy, in nobody’s words', 503, '<html>', 'unknown', 'none'],
    ['a fault', 500, { error: { code: 'server_error' } }, 'unknown', 'none'],
    ['a gateway in between that gave up', 504, '', 'unknown', 'none'],
    ['a conflict', 409, {}, 'unknown', 'none'],
    [
      'no money told by a sentence that has no code',
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: noCredit }, request_id: 'req_1' },
      'not_sold',
      'no_credit',
    ],
    [
      'that sentence inside of what a caller may have said',
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: `messages.0: "${noCredit}" is no role` } },
      'final',
      'none',
    ],
    [
      'that sentence beside a status that is not the vendor’s for it',
      422,
      { type: 'error', error: { type: 'invalid_request_error', message: noCredit } },
      'final',
      'none',
    ],
    [
      'a spent budget of the key, told by where it is set',
      403,
      { error: { code: 403, message: 'x', metadata: { limit_source: 'openrouter_key_limit', resets_at: 'x' } } },
      'not_sold',
      'no_credit',
    ],
    [
      'a country that the vendor does not serve',
      403,
      { error: { code: 'unsupported_country_region_territory', param: null, type: 'request_forbidden' } },
      'not_sold',
      'model',
    ],
    ['a debt', 403, { error: { code: 'AccountOverdueError', type: 'Forbidden' } }, 'not_sold', 'no_credit'],
    ['a 403 with nothing but a detail', 403, { detail: 'User is locked.' }, 'not_sold', 'none'],
    ['a 403 whose detail holds more', 403, { detail: [{ msg: 'flagged', input: 'x' }] }, 'final', 'none'],
  ]
  for (const [what, status, body, saleClass, key, wait] of rows)
    t.match(refuse(status, body, wait), { class: saleClass, key }, what)
})

t.test("an operator's rows precede the table, and read the given member", async t => {
  const own = [
    { status: [400], at: 'fault.kind', codes: ['E17'], class: 'not_sold', key: 'invalid' },
    { status: [401], class: 'final', key: 'none' },
  ] as const
  t.match(classify(readRefusal(400, Buffer.from('{"fault":{"kind":"E17"}}'), undefined), own), {
    key: 'invalid',
    code: '400 E17',
  })
  t.match(classify(readRefusal(400, Buffer.from('{"error":{"code":"E17"}}'), undefined), own), { class: 'final' })
  t.match(classify(readRefusal(401, Buffer.from(''), undefined), own), { class: 'final' }, 'the first that fits')
})

t.test('a logged code is a single word, whatever a vendor writes', async t => {
  const { code } = refuse(401, { error: { code: 'bad key sk-123\n"x"' } })
  t.equal(code, '401 bad_key_sk-123__x_')
  t.equal(refuse(401, { error: { code: 'x'.repeat(101) } }).code, '401')
})

t.test('an answer of status 200 is a refusal only if it holds only an error', async t => {
  const inside = (body: unknown) => {
    const refusal = refusalInside(body)
    return refusal && classify(refusal)
  }
  const rows: readonly (readonly [unknown, object | undefined])[] = [
    [
      { error: { code: 402, message: 'x' }, user_id: 'u' },
      { class: 'not_sold', key: 'no_credit', code: '200 402' },
    ],
    [{ error: { code: 429 } }, { class: 'not_sold', key: 'cooling' }],
    [{ error: { code: 'insufficient_quota' } }, { class: 'not_sold', key: 'no_credit' }],
    [
      { type: 'error', error: { type: 'authentication_error' } },
      { class: 'not_sold', key: 'invalid' },
    ],
    [{ error: { code: 500 } }, { class: 'unknown', key: 'none' }],
    [{ error: { type: 'overloaded_error' } }, { class: 'final', key: 'none' }],
    [{ error: { code: 503, type: 'overloaded_error' } }, { class: 'unknown', key: 'none' }],
    [{ error: { code: 404, type: 'not_found_error' } }, { class: 'unknown', key: 'none' }],
    [
      { id: 'x', choices: [], error: { code: 429 } },
      { class: 'not_sold', key: 'cooling' },
    ],
    [{ error: null }, undefined],
    [{ error: null, data: [{ url: 'x' }] }, undefined],
    [{ error: '' }, undefined],
    [{ error: {}, data: [1] }, undefined],
    [{ error: { code: 401 }, data: [{ url: 'x' }] }, undefined],
    [{ error: { code: 429 }, usage: { total_tokens: 3 } }, undefined],
    [{ choices: [{ error: { code: 429 } }] }, undefined],
    [['error'], undefined],
    ['error', undefined],
    [undefined, undefined],
  ]
  for (const [body, judged] of rows)
    if (judged) t.match(inside(body), judged, caseName({ body }))
    else t.equal(inside(body), undefined, caseName({ body }))
  for (const [body] of rows.filter(([, judged]) => judged))
    t.ok(mayBeError(Buffer.from(JSON.stringify(body, null, 1))), caseName({ heardOut: body }))
  for (const code of limitCodes) t.match(inside({ error: { code } }), { class: 'not_sold', key: 'cooling' }, code)
})

t.test('an error after events without data is found, whatever the line ends and pieces', async t => {
  for (const end of ['\n', '\r', '\r\n'])
    for (const pieceBytes of [1, 2, 3, 7, 1000]) {
      const words = new FirstEventReader('events')
      const lines = [
        '\ufeff: wait',
        '',
        'data:',
        '',
        'id: 7',
        '',
        ': ü',
        'data: {"error":',
        'data: {"code":429}}',
        '',
        '',
      ]
      const bytes = Buffer.from(lines.join(end))
      let at = 0
      while (!words.add(bytes.subarray(at, at + pieceBytes)) && at < bytes.length) at += pieceBytes
      t.match(words.inside(), { status: 429 }, caseName({ end, pieceBytes }))
      t.ok(at < bytes.length, caseName({ end, pieceBytes }))
    }
})

t.test('an answer that arrives byte by byte takes little time to classify', async t => {
  for (const [kind, text] of [
    ['events', ': x\n\n'.repeat(3_000)],
    ['events', `data: ${'x'.repeat(16_000)}`],
    ['json', `{"error":"${'x'.repeat(16_000)}`],
  ] as const) {
    const words = new FirstEventReader(kind)
    const bytes = Buffer.from(text)
    const { user } = process.cpuUsage()
    for (let at = 0; at < bytes.length; at++) words.add(bytes.subarray(at, at + 1))
    // Its time was about 8 s when every byte began anew.
    const tookMs = (process.cpuUsage().user - user) / 1000
    t.ok(tookMs < 1_500, caseName({ kind, start: text.slice(0, 8), tookMs }))
  }
})

t.test('only as much of an answer is read as classifies it', async t => {
  const hear = (kind: 'json' | 'events', ...chunks: readonly string[]) => {
    const words = new FirstEventReader(kind, 65_536)
    const at = chunks.findIndex(chunk => words.add(Buffer.from(chunk)))
    if (at === -1) words.end()
    return { at, refused: words.inside() !== undefined }
  }
  t.same(hear('json', '{"choices":[', '{}]}'), { at: 0, refused: false }, 'by the first member')
  t.same(hear('json', '{', '"er', 'ror":', '{"code":429}}'), { at: -1, refused: true }, 'in pieces')
  t.same(hear('json', '  [', '{"data":1}]'), { at: 1, refused: false })
  t.same(hear('json', '[1]'), { at: 0, refused: false })
  t.same(hear('json', '{"error":null,"data":["x"]}'), { at: 0, refused: false })
  t.same(hear('json', '{"error":{"code":429},', '"data":["picture"]}'), { at: -1, refused: false }, 'a sale')
  t.same(
    hear('json', '{"error":{"code":429},"x":"', 'y'.repeat(insideBytesMax)),
    { at: 1, refused: false },
    'too long for an error',
  )
  t.same(hear('json', '{"error":{"code":429}'), { at: -1, refused: false }, 'broken off')
  const empty = '{"id":"x","usage":null,"choices":[ ], "output":{},"text":"",'
  t.same(hear('json', empty, '"error":{"code":429}}'), { at: -1, refused: true }, 'next to empty members')
  t.same(hear('json', empty, '"data":["x"]}'), { at: 1, refused: false }, 'a sale next to empty members')
  t.same(hear('json', '{"choices":[]}'), { at: 0, refused: false }, 'nothing follows')
  t.same(hear('json', '{"\\u0065rror":', '{"code":429}}'), { at: -1, refused: true }, 'a name with escapes')
  t.same(hear('json', '{"created":1E+3,"model":"a\\"b",', '"choices":[0]}'), { at: 1, refused: false })
  t.same(hear('events', ': wait\n\n', 'data: {"error":{"code":429}}', '\n\n'), { at: 2, refused: true })
  t.same(hear('events', 'event: error\r\ndata: {"type":"error","error":{"type":"rate_limit_error"}}\r\n\r\n'), {
    at: 0,
    refused: true,
  })
  t.same(
    hear('events', 'data: {"choices":[]}\n\ndata: {"error":{"code":429}}\n\n'),
    { at: 0, refused: false },
    'a later one',
  )
  t.same(hear('events', 'data: {"error":{"code":429}}'), { at: -1, refused: true }, 'its end is the end')
})

t.test('an error that reports in its body how long to wait is one with Retry-After', async t => {
  const of = (retryDelay: unknown) => ({
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure' }, { retryDelay }],
    },
  })
  const cooled = refuse(429, of('27.5s'))
  t.match(cooled, { key: 'cooling', retryAfterMs: 27_500 })
  t.notOk(cooled.confirm, 'one request is enough')
  t.equal(refuse(429, of('27.5s'), 4_000).retryAfterMs, 4_000, 'the header comes first')
  for (const other of ['0s', 'soon', '1e9s', 27, null, {}]) {
    const { retryAfterMs, confirm } = refuse(429, of(other))
    t.same([retryAfterMs, confirm], [undefined, true], caseName({ other }))
  }
})
