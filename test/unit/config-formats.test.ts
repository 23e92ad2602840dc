import t from 'tap'
import { type Format, type FormatName, formats, isOf, patternOf } from '../../src/config/formats.ts'
import { caseName } from '../harness/case-name.ts'

type Samples = { readonly fits: readonly string[]; readonly others: readonly string[] }

const samples: { readonly [name in FormatName]: Samples } = {
  money: { fits: ['0.04', '12', '0.000001'], others: ['', '-1', '.5', '1e3', '0.0000001'] },
  factor: { fits: ['1', '0.9'], others: ['1,5', '-1'] },
  'proxy-or-none': {
    fits: ['none', 'http://h', 'https://u:p@h:3128', 'socks5://h:1080', 'socks5h://u:p%40@[::1]:1'],
    others: ['h:3128', 'ftp://h', 'http://', 'http://h/path', 'http://u:%zz@h', 'off'],
  },
  certificates: {
    fits: ['-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n'],
    others: ['/etc/ca.pem', '-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----'],
  },
  period: { fits: ['total', 'week', '2d', '7d', '90d'], others: ['', '1d', '91d', 'd', '07d', 'weekly'] },
  duration: { fits: ['30s', '1.5m', '250ms'], others: ['0s', '30', 's', '30 s', 'off'] },
  'time-zone': { fits: ['UTC', 'Europe/Berlin', 'Etc/GMT+5'], others: ['', 'Berlin', '+02:00', 'Europe/Nowhere'] },
  'duration-or-none': { fits: ['0s', '5s'], others: ['5', 'none'] },
  'duration-or-off': { fits: ['15s', 'off'], others: ['0s', 'offs', ''] },
  processes: { fits: ['1', '999', 'auto'], others: ['0', '1000', 'autos'] },
  bytes: { fits: ['32MiB', '1.5 KiB', '1B'], others: ['32', '0B', '32MB'] },
  address: { fits: ['127.0.0.1:8080', '[::1]:0', 'localhost:65535'], others: ['h:65536', '::1:80', 'h', 'off'] },
  'address-or-off': { fits: ['127.0.0.1:9464', 'off'], others: ['h:65536', 'on'] },
  network: { fits: ['10.0.0.0/8', '2001:db8::/32', '::1', 'fe80::1%eth0'], others: ['10.0.0/8', '::/129', 'h'] },
  storage: { fits: ['sqlite:./a.db', 'postgres://h/db', 'postgresql://h/db'], others: ['sqlite:', 'mysql://h/db'] },
  counters: {
    fits: ['memory:', 'redis://h:6379', 'rediss://u:p@h/1', 'redis://h:1?cluster', 'redis://h:1?cluster=spread'],
    others: ['memory', 'redis://h:1?other', 'redis://h:1?cluster=other', 'redis://h/x', 'redis://u:%zz@h', 'redis://'],
  },
  'upstream-url': {
    fits: ['https://h', 'http://h:1/v1', 'https://h/models/a@001', 'simulator:alpha'],
    others: ['https://u:p@h', 'https://h?key=1', 'https://h/#x', 'https://', 'ftp://h', 'simulator:a b'],
  },
  'call-path': {
    fits: ['/', '/v1/{model}:run', '/m/{model:segment}/invoke'],
    others: ['v1', '/v1?x=1', '/v1/{}', '/v1/{model', '/a b'],
  },
  'otlp-endpoint': { fits: ['http://h:4318', 'https://h/p'], others: ['http://u@h', 'simulator:alpha', 'h:1'] },
  'forward-header': {
    fits: ['session-id', 'x-codex-*', 'X-App'],
    others: [
      '*',
      'authorization',
      'cookie',
      'x-api-key',
      'content-type',
      'x-forwarded-*',
      'a b',
      'openai-organization',
    ],
  },
  'reply-header': {
    fits: ['openai-model', 'x-codex-*'],
    others: ['*', 'set-cookie', 'x-request-id', 'openai-organization', 'a:b'],
  },
  'header-name': { fits: ['authorization', 'X-Api_Key'], others: ['', 'a b', 'a:b', 'é'] },
  'header-value': { fits: ['', 'Bearer x'], others: ['a\nb', 'é'] },
  date: {
    fits: ['2026-12-01', '2028-02-29'],
    others: ['2026-02-30', '2027-02-29', '2026-13-01', '2026-1-1', '26-12-01', '2026-12-01T00:00:00Z', 'soon', ''],
  },
  'host-pattern': {
    fits: [
      'vendor.example',
      '*.vendor.example',
      'Vendor.Example:8443',
      'http://127.0.0.1:80',
      '[2001:db8::7]',
      '图.example',
    ],
    others: [
      '*',
      '*.example',
      'a.*.example',
      'vendor.example.',
      'u@h',
      'https://h/',
      '127.1',
      '0x7f.0.0.1',
      '*.10.0.0.1',
      'h:0',
      '',
    ],
  },
  receiver: {
    fits: ['https://h/p?q=1', 'http://127.0.0.1:80', 'smtps://user:p%40ss@mail.example', 'smtp://h:2525'],
    others: ['ftp://h', 'https://', 'h', 'smtps://a b', ''],
  },
  'webhook-secret': {
    fits: [`whsec_${'A'.repeat(32)}`, `whsec_${'a+/9'.repeat(10)}abc=`],
    others: ['whsec_short', 'A'.repeat(40), `whsec_${'A'.repeat(31)}-`, ''],
  },
  mailbox: { fits: ['a@b', 'finance@example.com'], others: ['a', 'a@', 'A <a@b>', 'a@b,c@d', ''] },
  origin: {
    fits: ['*', 'https://app.example', 'http://h:3000'],
    others: ['https://h/', 'https://h:443', 'https://H', '**'],
  },
  'public-url': {
    fits: ['https://ai.example.com', 'http://localhost:8080'],
    others: ['*', 'https://ai.example.com/', 'https://ai.example.com/console', 'ai.example.com', 'https://u@h'],
  },
  issuer: {
    fits: ['https://login.example.com', 'https://login.example.com/realms/staff', 'http://127.0.0.1:9000/'],
    others: ['login.example.com', 'https://h/x?y', 'https://h/.well-known/openid-configuration', 'https://u:p@h', ''],
  },
  domain: { fits: ['example.com', 'a'], others: ['@example.com', 'Example.com', 'example.com.', '*.example.com', ''] },
  route: {
    fits: ['POST /v1/images/edits', 'GET /v1/models/{id}'],
    others: ['post /v1', 'POST v1', 'POST /v1?x', 'GET /{a}/{a}', 'GET /{A}'],
  },
  'route-spelling': { fits: ['/v1/v1', 'POST /v1', '/m/{id}'], others: ['v1', 'POST v1', '/{a}/{a}', '/v1#x'] },
}

for (const [name, { fits, others }] of Object.entries(samples))
  t.test(`${name}: an editor accepts and refuses the same as check`, async t => {
    const format: Format = formats[name as FormatName]
    // Editors read patterns with the Unicode flag.
    const pattern = new RegExp(patternOf(format), 'u')
    for (const text of fits) {
      t.ok(isOf(format, text), text)
      t.match(text, pattern, caseName({ text }))
    }
    for (const text of others) t.notOk(isOf(format, text), text)
  })
