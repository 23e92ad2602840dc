import { readFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import t from 'tap'
import { awsSigv4 } from '../../plugins/aws-sigv4/plugin.ts'
import { googleToken } from '../../plugins/google-token/plugin.ts'
import { jwtHs256 } from '../../plugins/jwt-hs256/plugin.ts'
import { oauthClient } from '../../plugins/oauth-client/plugin.ts'
import { tc3Hmac } from '../../plugins/tc3-hmac/plugin.ts'
import {
  type Fetched,
  type Signer,
  type SignerHost,
  SigningError,
  Tokens,
  type Unsigned,
} from '../../src/plugin-api/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'

// Signatures of other libraries: botocore, the vendor's SDK, PyJWT, google-auth. test/fixtures/signing/make.py wrote
// them.
type Vectors = {
  readonly now: number
  readonly sigv4: readonly {
    readonly method: string
    readonly url: string
    readonly body: string
    readonly token: string | null
    readonly authorization: string
  }[]
  readonly tc3: readonly {
    readonly method: string
    readonly action: string
    readonly data: string
    readonly type: string
    readonly version: string
    readonly region: string
    readonly timestamp: string
    readonly authorization: string
  }[]
  readonly hs256: { readonly secret: string; readonly token: string }
  readonly google: { readonly file: { readonly [name: string]: string }; readonly assertion: string }
}
const vectors = JSON.parse(
  readFileSync(new URL('../fixtures/signing/vectors.json', import.meta.url), 'utf8'),
) as Vectors

type Ask = Parameters<SignerHost['post']>
type Host = SignerHost & {
  now: number
  readonly asked: readonly {
    readonly url: string
    readonly form: URLSearchParams
    readonly headers: readonly string[]
  }[]
}

/** A host whose clock stands still until a test moves it. */
function someHost(
  answer: (...ask: Ask) => Promise<Fetched> = () => Promise.reject(new Error('nothing is asked')),
): Host {
  const asked: Host['asked'][number][] = []
  const ignore = (): void => undefined
  const host: Host = {
    now: vectors.now * 1_000,
    asked,
    clock: { ...systemClock, now: () => host.now },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    post(url, request) {
      asked.push({ url, form: new URLSearchParams(request.body), headers: request.headers })
      return answer(url, request)
    },
  }
  return host
}

function someRequest(own: Partial<Unsigned> & { readonly text?: string } = {}): Unsigned {
  const { text = '', ...more } = own
  return {
    method: 'POST',
    url: 'https://vendor.example/v1/x',
    headers: [],
    digest: () => hash('sha256', text, 'hex'),
    ...more,
  }
}

const answerJson = (status: number, value: object): Fetched => ({
  status,
  headers: {},
  body: Buffer.from(JSON.stringify(value)),
})
const tokenOf = async (signer: Signer): Promise<string | undefined> =>
  (await signer.sign(someRequest())).headers?.['authorization']

t.test('aws-sigv4 signs like botocore', async t => {
  for (const { method, url, body, token, authorization } of vectors.sigv4) {
    const options = {
      access_key: 'AKIAEXAMPLEEXAMPLE',
      secret_key: 'an/example+secret',
      region: 'us-east-1',
      service: 'bedrock',
    }
    const signer = await awsSigv4.create({ ...options, ...(token !== null && { session_token: token }) }, someHost())
    const { headers = {} } = await signer.sign(someRequest({ method, url, text: body }))
    t.equal(headers['authorization'], authorization, caseName({ method, url }))
    t.equal(headers['x-amz-date'], '20261122T181500Z', caseName({ method, url }))
    t.equal(headers['x-amz-security-token'], token ?? undefined, caseName({ method, url }))
    t.equal(headers['x-amz-content-sha256'], hash('sha256', body, 'hex'), caseName({ method, url }))
  }
})

t.test("tc3-hmac signs like the vendor's SDK", async t => {
  for (const { method, action, data, type, version, region, timestamp, authorization } of vectors.tc3) {
    const keys = { secret_id: 'AKIDexample', secret_key: 'example-secret', session_token: 'temporary' }
    const options = { ...keys, service: 'hunyuan', version, region }
    const signer = await tc3Hmac.create(options, someHost())
    const isGet = method === 'GET'
    const { headers } = await signer.sign(
      someRequest({
        method,
        url: `https://hunyuan.tencentcloudapi.com/${isGet ? `?${data}` : ''}`,
        headers: ['content-type', type, 'x-tc-action', action],
        text: isGet ? '' : data,
      }),
    )
    t.same(
      headers,
      {
        authorization,
        'x-tc-action': action,
        'x-tc-version': version,
        'x-tc-region': region,
        'x-tc-timestamp': timestamp,
        'x-tc-token': 'temporary',
      },
      caseName({ method, action }),
    )
  }
})

t.test('tc3-hmac takes the action of its options if a request names none, and refuses without either', async t => {
  const options = { secret_id: 'i', secret_key: 'k', service: 's', version: '1' }
  const signer = await tc3Hmac.create({ ...options, action: 'Otherwise' }, someHost())
  t.match(await signer.sign(someRequest()), { headers: { 'x-tc-action': 'Otherwise' } })
  const bare = await tc3Hmac.create(options, someHost())
  t.throws(() => bare.sign(someRequest()), {
    message: 'it has no action: set one in the call or in the credential',
  })
})

t.test('jwt-hs256 makes the same token as PyJWT', async t => {
  const { secret, token } = vectors.hs256
  const host = someHost()
  const signer = await jwtHs256.create({ access_key: 'an-access-key', secret_key: secret, lifetime: '30m' }, host)
  t.equal(await tokenOf(signer), `Bearer ${token}`)
  host.now += 27 * 60_000
  t.equal(await tokenOf(signer), `Bearer ${token}`, 'it is kept')
  host.now += 90_000
  t.not(await tokenOf(signer), `Bearer ${token}`, 'and made again two minutes before its end')
})

t.test('google-token exchanges the same assertion as google-auth', async t => {
  const { file, assertion } = vectors.google
  const host = someHost(async () =>
    answerJson(200, { access_token: 'ya29.token', expires_in: 3599, token_type: 'Bearer' }),
  )
  const scope = 'https://www.googleapis.com/auth/cloud-platform'
  const options = { key: JSON.stringify(file), scope }
  const signer = await googleToken.create(options, host)
  t.equal(await tokenOf(signer), 'Bearer ya29.token')
  const elsewhere = await googleToken.create({ ...options, token_url: 'http://127.0.0.1:9/token' }, host)
  await elsewhere.sign(someRequest())
  t.same(
    host.asked.map(({ url }) => url),
    ['https://oauth2.googleapis.com/token', 'http://127.0.0.1:9/token'],
  )
  for (const { form, url } of host.asked) {
    t.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer', caseName({ url }))
    const [head, claims, signature] = (form.get('assertion') ?? '')
      .split('.')
      .map(part => Buffer.from(part, 'base64url'))
    const [oracleHead, oracleClaims] = assertion.split('.').map(part => Buffer.from(part, 'base64url'))
    t.same(JSON.parse(String(head)), JSON.parse(String(oracleHead)), caseName({ url }))
    t.same(JSON.parse(String(claims)), JSON.parse(String(oracleClaims)), caseName({ url }))
    t.equal(signature?.length, 256, caseName({ url }))
  }
})

t.test('an invalid key file is reported with the reason, and none of its content', async t => {
  const { file } = vectors.google
  const faults = [
    ['{', 'it is not JSON'],
    [JSON.stringify({ ...file, type: 'authorized_user' }), 'its type is not service_account'],
    [JSON.stringify({ ...file, client_email: 1 }), 'it has no client_email'],
    [JSON.stringify({ ...file, private_key: 'secret-text' }), 'it has no private_key'],
  ] as const
  for (const [key, fault] of faults)
    t.match(
      googleToken.inspectOptions?.({ key, scope: 's' }),
      [{ code: 'key_unusable', message: `this is not a service account key: ${fault}`, path: ['key'] }],
      fault,
    )
  const broken = { ...file, private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' }
  await t.rejects(async () => googleToken.create({ key: JSON.stringify(broken), scope: 's' }, someHost()))
})

t.test('oauth-client requests as in RFC 6749, in the form or by Basic', async t => {
  const host = someHost(async () => answerJson(200, { access_token: 'a-token', expires_in: 100 }))
  const options = { token_url: 'https://login.example/token', client_id: 'an id', client_secret: 'a:secret/+' }
  const inBody = await oauthClient.create({ ...options, scope: 'a b', authenticate: 'body' }, host)
  t.equal(await tokenOf(inBody), 'Bearer a-token')
  const byBasic = await oauthClient.create({ ...options, audience: 'https://x', authenticate: 'basic' }, host)
  await byBasic.sign(someRequest())
  t.same(
    host.asked.map(({ form }) => Object.fromEntries(form)),
    [
      { grant_type: 'client_credentials', client_id: 'an id', client_secret: 'a:secret/+', scope: 'a b' },
      { grant_type: 'client_credentials', audience: 'https://x' },
    ],
  )
  const [, ask] = host.asked
  const sent = Buffer.from(String(ask?.headers.at(-1)).slice('Basic '.length), 'base64').toString()
  t.equal(sent, 'an+id:a%3Asecret%2F%2B')
})

t.test('a refusal is reported with its status and the registered code, and nothing else', async t => {
  const options = {
    token_url: 'https://login.example/token',
    client_id: 'i',
    client_secret: 's',
    authenticate: 'body',
  } as const
  const rows = [
    [
      answerJson(401, { error: 'invalid_client', error_description: 'secret s is wrong' }),
      'login.example refused to issue a token, with status 401 (invalid_client)',
    ],
    [answerJson(400, { error: 'Secret "s"' }), 'login.example refused to issue a token, with status 400'],
    [
      { status: 502, headers: {}, body: Buffer.from('<html>') },
      'login.example refused to issue a token, with status 502',
    ],
    [answerJson(200, { token: 'x' }), 'login.example responded without a token'],
    [answerJson(200, { access_token: 'two\r\nlines' }), 'login.example responded without a token'],
  ] as const
  for (const [answer, message] of rows) {
    const signer = await oauthClient.create(
      options,
      someHost(async () => answer),
    )
    await t.rejects(Promise.resolve(signer.sign(someRequest())), { message }, message)
  }
})

t.test('requests that need a token during its minting wait for the same one', async t => {
  const gate = Promise.withResolvers<undefined>()
  let made = 0
  const tokens = new Tokens({ now: () => 0 }, async () => {
    made++
    await gate.promise
    return { token: `t${made}`, until: 1_000_000 }
  })
  const waiting = Array.from({ length: 100 }, async () => tokens.token())
  gate.resolve(undefined)
  t.same(new Set(await Promise.all(waiting)), new Set(['t1']))
  t.equal(tokens.token(), 't1', 'and then no request waits')
  t.equal(made, 1)
})

t.test('a failed minting fails for all who wait and for a second more, and is then retried', async t => {
  let made = 0
  let now = 0
  const tokens = new Tokens({ now: () => now }, async () => {
    if (made++ === 0) throw new SigningError('not now')
    return { token: 'later', until: 1_000_000 }
  })
  const [one, two] = await Promise.allSettled([tokens.token(), tokens.token()])
  t.match([one, two], [{ reason: { message: 'not now' } }, { reason: { message: 'not now' } }])
  now = 999
  t.throws(() => tokens.token(), { message: 'not now' })
  t.equal(made, 1)
  now = 1_000
  t.equal(await tokens.token(), 'later')
})

t.test('while the old token is valid, a failed minting changes nothing', async t => {
  let now = 0
  const ends: (number | undefined)[] = [3_600_000, undefined, undefined, 9_999_999]
  const tokens = new Tokens({ now: () => now }, async () => {
    const until = ends.shift()
    if (until === undefined) throw new SigningError('not now')
    return { token: `until ${until}`, until }
  })
  t.equal(await tokens.token(), 'until 3600000')
  now = 3_500_000
  t.equal(await tokens.token(), 'until 3600000', 'in its last two minutes')
  now = 3_600_000
  await t.rejects(Promise.resolve(tokens.token()), { message: 'not now' }, 'it is over')
  now = 3_601_000
  t.equal(await tokens.token(), 'until 9999999')
})

t.test('a refused token is minted again, unless it is younger than a minute', async t => {
  let now = 0
  let made = 0
  const tokens = new Tokens({ now: () => now }, async () => ({ token: `t${++made}`, until: now + 3_600_000 }))
  await tokens.token()
  now = 59_999
  t.equal(tokens.forget(), false)
  t.equal(tokens.token(), 't1')
  now = 60_000
  t.equal(tokens.forget('t1'), true)
  t.equal(tokens.forget('t1'), true, 'later requests have the next one, too')
  t.equal(await tokens.token(), 't2')
  now = 600_000
  t.equal(tokens.forget('t1'), true)
  t.equal(tokens.token(), 't2', 'a refused old one reveals nothing about it')
})
