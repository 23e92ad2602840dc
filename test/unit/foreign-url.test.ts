import { BlockList, connect, createServer, type AddressInfo, isIPv4 } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { checkForeign, guardedLookup, lookupOf, type Resolve } from '../../src/engine/foreign-url.ts'
import { type HostPattern, isHostOf, isPublicAddress, parseHostPattern } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, diceOf } from '../harness/seed.ts'

const patterns = (...texts: readonly string[]): readonly HostPattern[] =>
  texts.map(text => {
    const pattern = parseHostPattern(text)
    if (!pattern) throw new Error(`no pattern: ${text}`)
    return pattern
  })
const own = new URL('https://api.vendor.example/v1')
const hosts = patterns('*.vendor.example', 'files.other.example:8443', 'http://127.0.0.1:8080', '[fd00::7]')
const check = (url: string) => checkForeign(url, { own, hosts })

t.test("the upstream's own origin gets its credential, and named hosts get none", async t => {
  const rows = [
    ['https://api.vendor.example/jobs/1?x=1', true, 'https://api.vendor.example/jobs/1?x=1'],
    ['https://API.vendor.example:443/a', true, 'https://api.vendor.example/a'],
    ['/jobs/1', true, 'https://api.vendor.example/jobs/1'],
    ['jobs/1', true, 'https://api.vendor.example/jobs/1'],
    ['https://eu.vendor.example/a#part', false, 'https://eu.vendor.example/a'],
    ['https://a.b.vendor.example/a@b//c@d', false, 'https://a.b.vendor.example/a@b//c@d'],
    ['//eu.vendor.example/a', false, 'https://eu.vendor.example/a'],
    ['https://files.other.example:8443/a', false, 'https://files.other.example:8443/a'],
    ['http://127.0.0.1:8080/a', false, 'http://127.0.0.1:8080/a'],
    ['https://[fd00:0::7]/a', false, 'https://[fd00::7]/a'],
  ] as const
  for (const [url, sameOrigin, expected] of rows) {
    const verdict = check(url)
    t.match(verdict, { kind: 'allowed', sameOrigin }, url)
    t.equal(verdict.kind === 'allowed' && verdict.url.href, expected, url)
  }
})

t.test('every other address is refused, however it is written', async t => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['https://evil.example/', /neither the upstream's host nor listed in its hosts/],
    ['//evil.example/', /neither/],
    ['https://vendor.example/', /neither/],
    ['https://evilvendor.example/', /neither/],
    ['https://a.vendor.example.evil.example/', /neither/],
    ['https://a.vendor.example./', /trailing dot/],
    ['https://api.vendor.example./', /trailing dot/],
    ['http://eu.vendor.example/', /neither/],
    ['http://api.vendor.example/', /neither/],
    ['https://eu.vendor.example:8443/', /neither/],
    ['https://api.vendor.example:444/', /neither/],
    ['https://files.other.example/', /neither/],
    ['https://127.0.0.1:8080/', /neither/],
    ['http://127.0.0.1/', /neither/],
    ['http://localhost:8080/', /neither/],
    ['http://2130706434:8080/', /neither/],
    ['http://0177.0.0.2:8080/', /neither/],
    ['http://[::ffff:127.0.0.1]:8080/', /neither/],
    ['http://169.254.169.254/latest/meta-data', /neither/],
    ['https://10.0.0.1/', /neither/],
    ['https://[::1]/', /neither/],
    ['https://[fd00::8]/', /neither/],
    ['https://api.vendor.example@evil.example/', /credentials/],
    ['https://user:pass@eu.vendor.example/', /credentials/],
    ['https://user@api.vendor.example/', /credentials/],
    ['https://eu.vendor.example\\@evil.example/', /characters/],
    ['https:\\\\evil.example/', /characters/],
    ['https://evil\t.vendor.example/', /characters/],
    [' https://evil.example/', /characters/],
    ['https://eu.vendor.example/a b', /characters/],
    ['https://eu.vendor.example/\r\nhost: x', /characters/],
    ['https://evil.example%2Evendor.example.x/', /neither/],
    ['https://evil.example%00.vendor.example/', /invalid URL/],
    ['https://evil.example／.vendor.example/', /invalid URL/],
    ['https://evil.example。vendor.example.x/', /neither/],
    ['https://еu.vеndor.example/', /neither/],
    ['https://[::1', /invalid URL/],
    ['https://', /invalid URL/],
    ['ftp://eu.vendor.example/', /a URL of ftp:/],
    ['data:image/png;base64,AAAA', /a URL of data:/],
    ['file:///etc/passwd', /a URL of file:/],
    ['javascript:alert(1)', /a URL of javascript:/],
    [`https://eu.vendor.example/${'a'.repeat(17_000)}`, /more than 16384/],
  ]
  for (const [url, why] of rows) t.match(check(url), { kind: 'refused', why }, url.slice(0, 80))
  t.notMatch(
    JSON.stringify(check('https://evil.example/?signature=secret')),
    /secret/,
    'nothing but the origin is quoted',
  )
})

t.test('alternative notations of a host are normalised', async t => {
  t.match(
    check('http://2130706433:8080/'),
    { kind: 'allowed', mayBePrivate: true },
    '127.0.0.1 as a number, which the file names',
  )
  t.match(check('http://0x7f.1:8080/'), { kind: 'allowed', mayBePrivate: true })
  t.match(check('https://EU。vendor.example/'), { kind: 'allowed', sameOrigin: false }, 'an ideographic dot is one')
  const wide = checkForeign('https://图.vendor.example/', { own, hosts: patterns('图.vendor.example') })
  t.match(wide, { kind: 'allowed' }, 'names beyond ASCII are compared as they are dialled')
  const ascii = new URL('https://图.vendor.example/').href
  t.match(checkForeign(ascii, { own, hosts: patterns('图.vendor.example') }), { kind: 'allowed' }, ascii)
})

t.test('a private upstream’s own links are its own', async t => {
  const rule = { own: new URL('http://10.0.0.5:8188'), hosts: [] }
  t.match(checkForeign('http://10.0.0.5:8188/view?f=1', rule), { kind: 'allowed', sameOrigin: true })
  t.match(checkForeign('http://10.0.0.5:8189/', rule), { kind: 'refused' })
  t.match(checkForeign('http://10.0.0.6:8188/', rule), { kind: 'refused' })
})

/** A simple, slow matcher: compares every label of the pattern with its counterpart. */
function slowMatch(pattern: string, url: string): boolean {
  const parts = /^(https?):\/\/(.*?)(?::(\d+))?$/.exec(pattern.includes('://') ? pattern : `https://${pattern}`)
  if (!parts) return false
  const [, scheme = '', host = '', port] = parts
  const origin = /^(https?):\/\/([^/:]*)(?::(\d+))?\/$/.exec(url)
  if (!origin) return false
  const usual = (name: string, given: string | undefined): number =>
    given ? Number(given) : name === 'https' ? 443 : 80
  if (origin[1] !== scheme || usual(origin[1] ?? '', origin[3]) !== usual(scheme, port)) return false
  const wanted = host.toLowerCase().split('.')
  const labels = (origin[2] ?? '').toLowerCase().split('.')
  if (wanted[0] !== '*') return wanted.length === labels.length && wanted.every((label, i) => label === labels[i])
  const base = wanted.slice(1)
  if (labels.length <= base.length) return false
  return base.every((label, i) => label === labels[labels.length - base.length + i])
}

t.test('patterns have their intuitive meaning', async t => {
  const random = diceOf(seed)
  const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T
  const labels = ['a', 'b', 'A', 'ab', 'x-y', 'vendor', 'example']
  const name = (): string => Array.from({ length: 1 + random(4) }, () => pick(labels)).join('.')
  let allowed = 0
  for (let i = 0; i < 20_000; i++) {
    const base = `${name()}.${pick(labels)}`
    const pattern = `${pick(['', 'https://', 'http://'])}${pick(['', '*.'])}${base}${pick(['', '', ':443', ':8443', ':80'])}`
    const host = pick([base, `${name()}.${base}`, `${pick(labels)}${base}`, name(), `${base}.${name()}`])
    const url = `${pick(['https', 'http'])}://${host}${pick(['', '', ':443', ':8443', ':80'])}/`
    const parsed = parseHostPattern(pattern)
    const isMatch = parsed ? isHostOf(parsed, new URL(url)) : undefined
    const expected = slowMatch(pattern, url)
    if (expected) allowed++
    if (isMatch !== expected) {
      t.equal(isMatch, expected, caseName({ seed, pattern, url }))
      return
    }
  }
  t.ok(allowed > 400, `${allowed} of 20000 are allowed, seed ${seed}`)
})

t.test('addresses outside the public internet are refused', async t => {
  const closed = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.170',
    '192.0.2.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.51.100.9',
    '203.0.113.9',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff:fff::1',
    '100::1',
    '4000::1',
    'e000::1',
    'localhost',
    '',
    '1.2.3',
    '127.1',
  ]
  for (const address of closed) t.equal(isPublicAddress(address), false, address)
  const open = [
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.0.1',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.0.1',
    '192.169.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:4860:4860::8888',
    '2001:200::1',
    '3ffe::1',
    '3fff:1000::1',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
  ]
  for (const address of open) t.equal(isPublicAddress(address), true, address)
})

t.test("equals Node's block list for every IPv4 address", async t => {
  const list = new BlockList()
  for (const [address, bits] of [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const)
    list.addSubnet(address, bits)
  let state = seed
  const wrong: string[] = []
  for (let i = 0; i < 50_000; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    // Half of them are near the edges of blocks.
    const number = i % 2 === 0 ? state : ((state & 0xffff0000) | (state & 1 ? 0xffff : 0)) >>> 0
    const address = [24, 16, 8, 0].map(shift => (number >>> shift) & 255).join('.')
    if (!isIPv4(address) || isPublicAddress(address) === list.check(address)) wrong.push(address)
    const mapped = `::ffff:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`
    if (isPublicAddress(mapped) !== isPublicAddress(address)) wrong.push(mapped)
  }
  t.strictSame(wrong.slice(0, 5), [], `seed ${seed}`)
})

/** A resolver that returns one answer after another, and counts its calls. */
function someResolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const resolve: Resolve = (name, _options, done) => {
    const addresses = answers[asked.length] ?? []
    asked.push(name)
    done(
      null,
      addresses.map(address => ({ address, family: isIPv4(address) ? 4 : 6 })),
    )
  }
  return { resolve, asked }
}

const lookUp = (lookup: ReturnType<typeof guardedLookup>, all: boolean): Promise<unknown> =>
  new Promise((resolve, reject) => {
    lookup('files.vendor.example', { all }, (error, address, family) =>
      error ? reject(error) : resolve(all ? address : [address, family]),
    )
  })

t.test('a name is refused if any of its addresses is private', async t => {
  for (const answer of [
    ['10.0.0.1'],
    ['1.1.1.1', '127.0.0.1'],
    ['2606:4700::1', '::1'],
    ['::ffff:169.254.169.254'],
    [],
  ])
    for (const all of [true, false]) {
      const { resolve } = someResolver(answer)
      await t.rejects(
        lookUp(guardedLookup(resolve), all),
        { code: 'EADDRREFUSED' },
        caseName({ answer: answer.join(), all }),
      )
    }
  t.same(await lookUp(guardedLookup(someResolver(['1.1.1.1', '2606:4700::1']).resolve), true), [
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1', family: 6 },
  ])
  t.same(await lookUp(guardedLookup(someResolver(['1.1.1.1', '1.0.0.1']).resolve), false), ['1.1.1.1', 4])
})

t.test("a resolver's error is passed on unchanged", async t => {
  const failing: Resolve = (_name, _options, done) => done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
  await t.rejects(lookUp(guardedLookup(failing), true), { code: 'ENOTFOUND' })
})

t.test('a name is resolved once, and the checked address is dialled', async t => {
  const server = createServer(socket => void socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { resolve, asked } = someResolver(['127.0.0.1'], ['127.0.0.2'])
  const judged: string[] = []
  const lookup = guardedLookup(resolve, address => judged.push(address) > 0)
  const socket = connect({ host: 'rebound.vendor.example', port, lookup })
  await once(socket, 'connect')
  t.equal(socket.remoteAddress, '127.0.0.1')
  t.strictSame([asked, judged], [['rebound.vendor.example'], ['127.0.0.1']])
  socket.destroy()
})

t.test('an IP address in the file is dialled directly, and one that is not is not dialled', async t => {
  const place = { url: new URL('http://10.0.0.1/'), sameOrigin: false }
  t.equal(lookupOf({ ...place, mayBePrivate: true }), undefined)
  t.throws(() => lookupOf({ ...place, mayBePrivate: false }))
  const named = { url: new URL('https://files.vendor.example/'), sameOrigin: false, mayBePrivate: false }
  t.type(lookupOf(named), 'function')
})

t.test("another port of the upstream's own private host may be used if the file names it", async t => {
  const rule = { own: new URL('http://comfy:8188'), hosts: patterns('http://comfy:8189', 'http://files:80') }
  t.match(checkForeign('http://comfy:8189/a', rule), { kind: 'allowed', sameOrigin: false, mayBePrivate: true })
  t.match(checkForeign('http://files/a', rule), { kind: 'allowed', mayBePrivate: false })
  t.match(checkForeign('http://comfy:8190/a', rule), { kind: 'refused' })
})
