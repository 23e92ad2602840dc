/** Bytes that two readers of HTTP might read as different requests. */
export type Smuggle = {
  readonly name: string
  /** All bytes that the client sends, one character per byte. */
  readonly bytes: string
  /** The required result: refused, accepted as one request, or either of the two. */
  readonly fate: 'refused' | 'one' | 'either'
}

/** The path of the requests in this list, and their body if accepted. */
export const smugglePath = '/v1/chat/completions'
export const carried = '{"model":"anything","a":"b"}'

const length = carried.length
const inner = 'GET /smuggled HTTP/1.1\r\nHost: inner\r\n\r\n'
const crlf = '\r\n'

/** A request with these header lines, followed by these bytes. */
function post(lines: readonly string[], rest: string, line = `POST ${smugglePath} HTTP/1.1`): string {
  return [line, 'Host: gateway.example', 'Content-Type: application/json', ...lines, '', rest].join(crlf)
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const chunked = `${chunk(carried)}0\r\n\r\n`
const te = 'Transfer-Encoding: chunked'
const cl = `Content-Length: ${length}`

function rows(fate: Smuggle['fate'], group: string, cases: { readonly [name: string]: string }): Smuggle[] {
  return Object.entries(cases).map(([name, bytes]) => ({ name: `${group}: ${name}`, bytes, fate }))
}

/** A request inside the body of a method whose body a proxy may forget (F1, CVE-2026-29057). */
const methods = ['DELETE', 'OPTIONS', 'PUT', 'PATCH', 'HEAD', 'TRACE', 'GET', 'PURGE', 'CONNECT'].map(
  (method): Smuggle => ({
    name: `method: ${method} with a request in its chunks`,
    bytes: post([te], `${chunk(inner)}0\r\n\r\n`, `${method} ${smugglePath} HTTP/1.1`),
    fate: 'refused',
  }),
)

/** Chunks for a reader that follows Transfer-Encoding; for others an empty body and a second request. */
const coded = (...lines: readonly string[]): string => post(lines, `${chunked}${inner}`)

export const smuggling: readonly Smuggle[] = [
  ...methods,
  ...rows('refused', 'both lengths', {
    'Content-Length and chunks': coded(cl, te),
    'chunks and Content-Length': coded(te, cl),
    'Content-Length: 0 and chunks': coded('Content-Length: 0', te),
    'chunks and a length that ends inside the first chunk': coded(te, 'Content-Length: 4'),
    'an empty Content-Length and chunks': coded('Content-Length:', te),
  }),
  ...rows('refused', 'transfer-encoding', {
    xchunked: coded('Transfer-Encoding: xchunked'),
    'gzip, chunked': coded('Transfer-Encoding: gzip, chunked'),
    'chunked, identity': coded('Transfer-Encoding: chunked, identity'),
    'chunked, gzip': coded('Transfer-Encoding: chunked, gzip'),
    'chunked twice in a line': coded('Transfer-Encoding: chunked, chunked'),
    'chunked in two lines': coded(te, te),
    'chunked, then identity, in two lines': coded(te, 'Transfer-Encoding: identity'),
    'identity, then chunked, in two lines': coded('Transfer-Encoding: identity', te),
    'a comma before': coded('Transfer-Encoding: ,chunked'),
    'a parameter': coded('Transfer-Encoding: chunked;q=1'),
    'in quotes': coded('Transfer-Encoding: "chunked"'),
    identity: coded('Transfer-Encoding: identity', cl),
    cow: coded('Transfer-Encoding: cow', cl),
    'a vertical tab before': coded('Transfer-Encoding: \x0bchunked'),
    'a NUL behind': coded('Transfer-Encoding: chunked\0'),
    'a byte above ASCII behind': coded('Transfer-Encoding: chunked\xff'),
    'a blank before the colon': coded('Transfer-Encoding : chunked', cl),
    'an underscore in the name': coded('Transfer_Encoding: chunked', cl),
    'a blank before the name': coded('X-A: b', ' Transfer-Encoding: chunked', cl),
    'behind a bare LF': coded('X-A: b\nTransfer-Encoding: chunked', cl),
    'behind a bare CR': coded('X-A: b\rTransfer-Encoding: chunked', cl),
    'folded on the next line': coded('Transfer-Encoding:\r\n chunked'),
  }),
  ...rows('either', 'transfer-encoding', {
    'a comma behind': coded('Transfer-Encoding: chunked,'),
    'a tab behind': coded('Transfer-Encoding: chunked\t'),
  }),
  ...rows('one', 'transfer-encoding', {
    'in another case': coded('Transfer-Encoding: cHuNkEd'),
    'blanks around': coded('Transfer-Encoding:   chunked  '),
  }),
  ...rows('refused', 'content-length', {
    'a list of two': post([`Content-Length: ${length}, ${length}`], carried),
    'a plus': post([`Content-Length: +${length}`], carried),
    'a minus': post(['Content-Length: -1'], carried),
    hexadecimal: post([`Content-Length: 0x${length.toString(16)}`], carried),
    'an underscore between digits': post(['Content-Length: 2_8'], carried),
    'no digits': post(['Content-Length:'], carried),
    '2^64 + 1': post(['Content-Length: 18446744073709551617'], carried),
    'a fraction': post([`Content-Length: ${length}.0`], carried),
    'two lines alike': post([cl, cl], carried),
    'two lines that differ': post([cl, 'Content-Length: 4'], carried + inner),
    'a word behind': post([`Content-Length: ${length} abc`], carried),
    'a blank before the colon': post([`Content-Length : ${length}`], carried),
  }),
  ...rows('refused', 'chunk', {
    'size 0x1c': post([te], `0x1c\r\n${carried}\r\n0\r\n\r\n`),
    'size with an underscore': post([te], `1_c\r\n${carried}\r\n0\r\n\r\n`),
    'size below zero': post([te], `-1c\r\n${carried}\r\n0\r\n\r\n`),
    'size above 2^64': post([te], `1000000000000001c\r\n${carried}\r\n0\r\n\r\n`),
    'size behind a blank': post([te], ` 1c\r\n${carried}\r\n0\r\n\r\n`),
    'lines that end in LF alone': post([te], `1c\n${carried}\n0\n\n`),
    'no line end behind the bytes': post([te], `1c\r\n${carried}0\r\n\r\n`),
    'more bytes than its size': post([te], `1b\r\n${carried}\r\n0\r\n\r\n`),
    'an extension with a bare CR': post([te], `1c;a\rb\r\n${carried}\r\n0\r\n\r\n`),
    'an extension with a bare LF': post([te], `1c;a\nb\r\n${carried}\r\n0\r\n\r\n`),
    'an extension of 20 KiB': post([te], `1c;a=${'x'.repeat(20_480)}\r\n${carried}\r\n0\r\n\r\n`),
    'trailers of 20 KiB': post([te], `${chunk(carried)}0\r\nX-A: ${'x'.repeat(20_480)}\r\n\r\n`),
  }),
  ...rows('either', 'chunk', {
    'a trailer Content-Length': post([te], `${chunk(carried)}0\r\nContent-Length: 5\r\n\r\n${inner}`),
    'a trailer Transfer-Encoding': post([te], `${chunk(carried)}0\r\nTransfer-Encoding: chunked\r\n\r\n${inner}`),
    'a trailer Authorization': post([te], `${chunk(carried)}0\r\nAuthorization: Bearer x\r\n\r\n`),
  }),
  ...rows('refused', 'version', {
    'HTTP/0.9': `GET ${smugglePath}\r\n\r\n`,
    'HTTP/1.0 with chunks': post([te], `${chunked}${inner}`, `POST ${smugglePath} HTTP/1.0`),
    'HTTP/1.2': post([cl], carried, `POST ${smugglePath} HTTP/1.2`),
    'HTTP/2.0': post([cl], carried, `POST ${smugglePath} HTTP/2.0`),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS handshake': '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
  }),
  ...rows('refused', 'request line', {
    'tabs between its parts': post([cl], carried, `POST\t${smugglePath}\tHTTP/1.1`),
    'another request in its path': post([cl], carried, `POST ${smugglePath}\rHost: x HTTP/1.1`),
    'an absolute address with a name before its host': post(
      [cl],
      carried,
      `POST http://a@inner${smugglePath} HTTP/1.1`,
    ),
  }),
  ...rows('one', 'request line', {
    // RFC 9112 3.2.2: the absolute target names the host and overrides the Host header. Nothing here depends on either.
    'an absolute address of another host': post([cl], carried, `POST http://inner${smugglePath} HTTP/1.1`),
  }),
  ...rows('refused', 'header', {
    'no Host': `POST ${smugglePath} HTTP/1.1\r\nContent-Type: application/json\r\n${cl}\r\n\r\n${carried}`,
    'a blank in a name': post(['X A: b', cl], carried),
    'a NUL in a value': post(['X-A: b\0c', cl], carried),
    'a line without a colon': post(['nonsense', cl], carried),
  }),
  ...rows('one', 'header', {
    'Connection names Content-Length': post([cl, 'Connection: content-length'], carried),
    'an upgrade to HTTP/2': post(
      [cl, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
      carried,
    ),
  }),
]
