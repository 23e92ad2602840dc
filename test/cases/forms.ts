import type { errors } from '../../plugins/multipart-rewrite/errors.ts'
import { boundary, fileHead, picture, rawForm, textHead } from '../unit/multipart-rewrite-kit.ts'

/** The parts of a form that nobody refuses. */
export const model = [textHead('model'), 'm'] as const
export const image = [fileHead('image'), picture('png', 40)] as const
export const good = rawForm([model, image])
export const type = (params: string) => `multipart/form-data; ${params}`
export const headOf = (head: string) => rawForm([[head, 'm'], image])
const repeat = (times: number, row: (index: number) => readonly [string, string]) =>
  rawForm([model, ...Array.from({ length: times }, (_, index) => row(index))])

/** Bodies that readers are known to differ over; each is refused before anything is sent or held. */
export const refusedForms: readonly (readonly [
  title: string,
  body: Buffer,
  code: keyof typeof errors,
  contentType?: string,
])[] = [
  ['M1 no boundary parameter', good, 'form_boundary_invalid', 'multipart/form-data'],
  ['M2 a boundary that the body does not hold', good, 'form_malformed', type('boundary=other')],
  ['M3 no final boundary', good.subarray(0, -4 - boundary.length - 2), 'form_incomplete'],
  ['M3 half a final boundary', good.subarray(0, -4), 'form_incomplete'],
  ['M3 a final boundary without its last dash', good.subarray(0, -3), 'form_incomplete'],
  ['M4 stopped in a head', good.subarray(0, 30), 'form_incomplete'],
  ['M5 stopped in a file', good.subarray(0, -30), 'form_incomplete'],
  [
    'M6 line ends without CR',
    Buffer.from(good.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    'form_malformed',
  ],
  ['M7 a part without content-disposition', headOf('Content-Type: text/plain'), 'form_malformed'],
  ['M7 a part without any header', Buffer.from(`--${boundary}\r\n\r\nm\r\n--${boundary}--\r\n`), 'form_malformed'],
  [
    'M7 a part without a blank line',
    Buffer.from(`--${boundary}\r\n${textHead('a')}\r\n\r\n--${boundary}--`),
    'form_malformed',
  ],
  ['M7 a disposition other than form-data', headOf('Content-Disposition: attachment; name="model"'), 'form_malformed'],
  ['M8 no name', headOf('Content-Disposition: form-data'), 'form_malformed'],
  ['M8 an empty name', headOf(textHead('')), 'form_malformed'],
  ['M9 a head of 100 KB', headOf(`${textHead('model')}\r\nX-A: ${'a'.repeat(100_000)}`), 'form_too_complex'],
  [
    'M9 a head one byte over 8 KiB',
    headOf(`${textHead('a')}\r\nX: ${'a'.repeat(8192 - textHead('a').length - 4)}`),
    'form_too_complex',
  ],
  ['M10 3,000 headers in a part', headOf(`${textHead('model')}${'\r\nA:1'.repeat(3000)}`), 'form_too_complex'],
  ['M10 21 headers in a part', headOf(`${textHead('model')}${'\r\nA: 1'.repeat(20)}`), 'form_too_complex'],
  ['M11 two models', rawForm([model, [textHead('model'), 'dear'], image]), 'form_field_duplicate'],
  [
    'M11 two sizes',
    rawForm([model, [textHead('size'), '1k'], image, [textHead('size'), '2k']]),
    'form_field_duplicate',
  ],
  ['M11 a second model in brackets', rawForm([model, [textHead('model[]'), 'dear'], image]), 'form_field_not_list'],
  ['M12 a name given twice', headOf('Content-Disposition: form-data; name="model"; name="x"'), 'form_malformed'],
  ['M13 an encoded name', headOf("Content-Disposition: form-data; name*=utf-8''model"), 'form_malformed'],
  ['M13 a name in pieces', headOf('Content-Disposition: form-data; name*0="mo"; name*1="del"'), 'form_malformed'],
  ['M14 two content-dispositions', headOf(`${textHead('model')}\r\n${textHead('x')}`), 'form_malformed'],
  ['M15 CRLF in a filename', headOf(fileHead('image', 'a\r\nb.png')), 'form_malformed'],
  [
    'a filename in a charset that readers need not know [6.2]',
    headOf(`${textHead('image')}; filename*=TF-8''a.png`),
    'form_malformed',
  ],
  ['NUL in a header [6.2]', headOf(`${fileHead('image')}\r\nX-A:\0 b`), 'form_malformed'],
  ['M15 a quote in a filename', headOf(fileHead('image', 'a"b.png')), 'form_malformed'],
  [
    'M15 a filename that does not end',
    headOf('Content-Disposition: form-data; name="image"; filename="a'),
    'form_malformed',
  ],
  ['M16 LF in a name', headOf(textHead('mo\ndel')), 'form_malformed'],
  ['M16 CR in a name', headOf(textHead('mo\rdel')), 'form_malformed'],
  ['M16 NUL in a name', headOf(textHead('mo\0del')), 'form_malformed'],
  ['M16 an escaped quote in a name', headOf(textHead('mo\\"del')), 'form_malformed'],
  ['M16 a percent-encoded quote in a name', headOf(textHead('mo%22del')), 'form_malformed'],
  ['M16 a name that is not UTF-8', Buffer.from(headOf(textHead('mo\xffdel')).toString(), 'latin1'), 'form_malformed'],
  ['M18 a model with a filename', rawForm([[fileHead('model'), 'm'], image]), 'form_field_is_text'],
  ['M18 a prompt with an empty filename', rawForm([model, [fileHead('prompt', ''), 'm'], image]), 'form_field_is_text'],
  ['M18 a model with an encoded filename', headOf(`${textHead('model')}; filename*=utf-8''m`), 'form_field_is_text'],
  ['M19 an encoded content', headOf(`${fileHead('image')}\r\nContent-Transfer-Encoding: base64`), 'form_malformed'],
  ['M20 a form in a form', headOf(`${textHead('a')}\r\nContent-Type: multipart/mixed; boundary=b`), 'form_malformed'],
  [
    'M20 a form as a file',
    headOf(`${fileHead('image')}\r\nContent-Type: Multipart/Mixed; boundary=b`),
    'form_malformed',
  ],
  ['M21 a part after the end', Buffer.concat([good, good]), 'form_malformed'],
  ['M21 three line ends after the end', Buffer.concat([good, Buffer.from('\r\n\r\n')]), 'form_malformed'],
  ['M21 half a line end after the end', Buffer.concat([good, Buffer.from('\r')]), 'form_incomplete'],
  ['M21 a byte after the end', Buffer.concat([good, Buffer.from('x')]), 'form_malformed'],
  [
    'M22 a boundary of 300 characters',
    rawForm([model], 'a'.repeat(300)),
    'form_boundary_invalid',
    type(`boundary=${'a'.repeat(300)}`),
  ],
  [
    'M22 a boundary of 71 characters',
    rawForm([model], 'a'.repeat(71)),
    'form_boundary_invalid',
    type(`boundary=${'a'.repeat(71)}`),
  ],
  ['M23 an empty boundary', good, 'form_boundary_invalid', type('boundary=')],
  ['M23 an empty boundary in quotes', good, 'form_boundary_invalid', type('boundary=""')],
  ['M23 a quote that does not end', good, 'form_boundary_invalid', type(`boundary="${boundary}`)],
  ['M23 an escape in a quoted boundary', good, 'form_boundary_invalid', type('boundary="xY\\zZY"')],
  ['M23 two boundaries', good, 'form_boundary_invalid', type(`boundary=${boundary}; boundary=other`)],
  ['M23 two equal boundaries', good, 'form_boundary_invalid', type(`boundary=${boundary}; Boundary="${boundary}"`)],
  ['M23 an encoded boundary', good, 'form_boundary_invalid', type(`boundary*=utf-8''${boundary}`)],
  ['M23 a blank in a boundary', good, 'form_boundary_invalid', type('boundary="xY zY"')],
  ['M24 10,000 empty files', repeat(10_000, () => [fileHead('image'), '']), 'form_too_complex'],
  ['M24 10,000 empty texts', repeat(10_000, index => [textHead(`a${index}`), '']), 'form_too_complex'],
  ['M24 101 texts', repeat(100, index => [textHead(`a${index}`), 'x']), 'form_too_complex'],
  ['M24 heads of more than 1 MiB', repeat(140, () => [fileHead('image', 'a'.repeat(8000)), 'x']), 'form_too_complex'],
  [
    'M24 more than 1 MiB of text',
    repeat(5, index => [textHead(`a${index}`), 'x'.repeat(256 * 1024)]),
    'form_too_complex',
  ],
  [
    'M26 a line in a file that begins like a boundary',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary}X\r\nb`]]),
    'form_malformed',
  ],
  [
    'M26 a boundary with one dash after it',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary}-\r\nb`]]),
    'form_malformed',
  ],
  [
    'M26 a boundary with blanks after it',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary} \r\n${fileHead('image')}\r\n\r\nb`]]),
    'form_malformed',
  ],
  ['M26 a boundary among headers', headOf(`${textHead('a')}\r\n--${boundary}x: y`), 'form_malformed'],
  ['M27 a folded header', headOf('Content-Disposition: form-data;\r\n name="model"'), 'form_malformed'],
  ['M27 a header without a colon', headOf(`${textHead('model')}\r\nnonsense`), 'form_malformed'],
  ['M27 a blank before a colon', headOf(`${textHead('a')}\r\nContent-Type : text/plain`), 'form_malformed'],
  [
    'M28 a preamble of 1 MB',
    Buffer.concat([Buffer.alloc(1_000_000, 'a'), Buffer.from('\r\n'), good]),
    'form_too_complex',
  ],
  ['M28 a first boundary that does not begin its line', Buffer.concat([Buffer.from('x'), good]), 'form_malformed'],
  ['M29 an empty body', Buffer.alloc(0), 'form_malformed'],
  [
    'a picture without a filename, under a field of no files',
    headOf(`${textHead('other')}\r\nContent-Type: image/png`),
    'form_malformed',
  ],
  [
    'a text in another charset',
    headOf(`${textHead('a')}\r\nContent-Type: text/plain; charset=utf-16`),
    'form_malformed',
  ],
  ['a text that is not UTF-8', rawForm([model, [textHead('a'), Buffer.from([0x61, 0xff])]]), 'form_text_undecodable'],
  [
    'a text in Latin-1 beyond ASCII',
    rawForm([model, [`${textHead('a')}\r\nContent-Type: text/plain; charset=ISO-8859-1`, 'é']]),
    'form_text_undecodable',
  ],
  [
    'a text of one byte more than 256 KiB',
    rawForm([model, [textHead('a'), 'x'.repeat(256 * 1024 + 1)]]),
    'form_text_too_long',
  ],
]

/** Odd, and yet read alike by everybody. */
export const acceptedForms: readonly (readonly [title: string, body: Buffer, contentType?: string])[] = [
  ['no line end after the last boundary', good.subarray(0, -2)],
  ['two line ends after the last boundary, as openai-node 4 sends them', Buffer.concat([good, Buffer.from('\r\n')])],
  ['a line end before the first boundary', Buffer.concat([Buffer.from('\r\n'), good])],
  ['a preamble of less than 1 KiB', Buffer.concat([Buffer.from('This is a form.\r\n'), good])],
  ['a boundary in quotes, as .NET clients send it', good, type(`boundary="${boundary}"`)],
  ['more parameters of the content type', good, type(`charset=utf-8; boundary=${boundary}`)],
  ['a boundary of 70 characters', rawForm([model, image], 'a'.repeat(70)), type(`boundary=${'a'.repeat(70)}`)],
  ['names without quotes', rawForm([['content-disposition: form-data; name=model', 'm'], image])],
  ['M17 a filename with a path and NUL', rawForm([model, [fileHead('image', '../../etc/pass\0wd'), image[1]]])],
  ['a filename with an escaped quote', rawForm([model, [fileHead('image', 'a\\"b.png'), image[1]]])],
  ['a filename with an encoded quote and an é', rawForm([model, [fileHead('image', 'tw%22o é.png'), image[1]]])],
  ['a filename that is only encoded', rawForm([model, [`${textHead('image')}; filename*=utf-8''a.png`, image[1]]])],
  [
    'the headers that OkHttp and Java clients add',
    rawForm([
      [`${textHead('model')}\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit`, 'm'],
      [
        `${fileHead('image')}\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: binary\r\nContent-Length: 40`,
        image[1],
      ],
    ]),
  ],
  ['20 headers in a part', rawForm([[`${textHead('model')}${'\r\nA: 1'.repeat(19)}`, 'm'], image])],
]
