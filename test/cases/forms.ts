import type { errors } from '../../plugins/multipart-rewrite/errors.ts'
import { boundary, fileHead, picture, rawForm, textHead } from '../unit/multipart-rewrite-kit.ts'

/** The parts of a valid form. */
export const model = [textHead('model'), 'm'] as const
export const image = [fileHead('image'), picture('png', 40)] as const
export const good = rawForm([model, image])
export const type = (params: string) => `multipart/form-data; ${params}`
export const headOf = (head: string) => rawForm([[head, 'm'], image])
const repeat = (times: number, row: (index: number) => readonly [string, string]) =>
  rawForm([model, ...Array.from({ length: times }, (_, index) => row(index))])

/** Bodies that cannot be read or used; each is refused before anything is sent or held. */
export const refusedForms: readonly (readonly [
  title: string,
  body: Buffer,
  code: keyof typeof errors,
  contentType?: string,
])[] = [
  ['M1 no boundary parameter', good, 'form_boundary_invalid', 'multipart/form-data'],
  ['M2 a boundary that the body does not hold', good, 'form_incomplete', type('boundary=other')],
  ['M3 no final boundary', good.subarray(0, -4 - boundary.length - 2), 'form_incomplete'],
  ['M3 half a final boundary', good.subarray(0, -4), 'form_incomplete'],
  ['M3 a final boundary without its last dash', good.subarray(0, -3), 'form_incomplete'],
  ['M4 stopped in a head', good.subarray(0, 30), 'form_incomplete'],
  ['M5 stopped in a file', good.subarray(0, -30), 'form_incomplete'],
  [
    'M6 line ends without CR',
    Buffer.from(good.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    'form_incomplete',
  ],
  [
    'M7 a part without a blank line',
    Buffer.from(`--${boundary}\r\n${textHead('a')}\r\n\r\n--${boundary}--`),
    'form_incomplete',
  ],
  ['M9 a head of 100 KB', headOf(`${textHead('model')}\r\nX-A: ${'a'.repeat(100_000)}`), 'form_malformed'],
  ['M10 4,000 headers in a part', headOf(`${textHead('model')}${'\r\nA:1'.repeat(4000)}`), 'form_malformed'],
  ['M11 two models', rawForm([model, [textHead('model'), 'dear'], image]), 'form_field_duplicate'],
  [
    'M11 two sizes',
    rawForm([model, [textHead('size'), '1k'], image, [textHead('size'), '2k']]),
    'form_field_duplicate',
  ],
  [
    'M11 a second model in any brackets',
    rawForm([model, [textHead('model[a]'), 'dear'], image]),
    'form_field_not_list',
  ],
  ['M7 a part without any header', Buffer.from(`--${boundary}\r\n\r\nm\r\n--${boundary}--\r\n`), 'form_malformed'],
  ['M8 no name', headOf('Content-Disposition: form-data'), 'form_malformed'],
  ['M8 an empty name', headOf(textHead('')), 'form_malformed'],
  ['M11 a second model in brackets', rawForm([model, [textHead('model[]'), 'dear'], image]), 'form_field_not_list'],
  ['M13 an encoded name', headOf("Content-Disposition: form-data; name*=utf-8''model"), 'form_malformed'],
  ['M13 a name in pieces', headOf('Content-Disposition: form-data; name*0="mo"; name*1="del"'), 'form_malformed'],
  ['M15 CRLF in a filename', headOf(fileHead('image', 'a\r\nb.png')), 'form_malformed'],
  ['NUL in a header [6.2]', headOf(`${fileHead('image')}\r\nX-A:\0 b`), 'form_malformed'],
  ['M16 LF in a name', headOf(textHead('mo\ndel')), 'form_malformed'],
  ['M16 CR in a name', headOf(textHead('mo\rdel')), 'form_malformed'],
  ['M16 NUL in a name', headOf(textHead('mo\0del')), 'form_malformed'],
  ['M16 a name of 257 bytes', headOf(textHead('a'.repeat(257))), 'form_malformed'],
  ['M17 NUL in a filename', headOf(fileHead('image', 'a\0b.png')), 'form_malformed'],
  ['M16 a name that is not UTF-8', Buffer.from(headOf(textHead('mo\xffdel')).toString(), 'latin1'), 'form_malformed'],
  ['M18 a model with a filename', rawForm([[fileHead('model'), 'm'], image]), 'form_field_is_text'],
  ['M18 a model with an encoded filename', headOf(`${textHead('model')}; filename*=utf-8''m`), 'form_field_is_text'],
  ['M19 an encoded content', headOf(`${fileHead('image')}\r\nContent-Transfer-Encoding: base64`), 'form_malformed'],
  ['M20 a form in a form', headOf(`${textHead('a')}\r\nContent-Type: multipart/mixed; boundary=b`), 'form_malformed'],
  [
    'M20 a form as a file',
    headOf(`${fileHead('image')}\r\nContent-Type: Multipart/Mixed; boundary=b`),
    'form_malformed',
  ],
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
  ['M23 two boundaries', good, 'form_boundary_invalid', type(`boundary=${boundary}; boundary=other`)],
  ['M23 two equal boundaries', good, 'form_boundary_invalid', type(`boundary=${boundary}; Boundary="${boundary}"`)],
  ['M23 an encoded boundary', good, 'form_boundary_invalid', type(`boundary*=utf-8''${boundary}`)],
  ['M24 10,000 empty files', repeat(10_000, () => [fileHead('image'), '']), 'form_too_complex'],
  ['M24 10,000 empty texts', repeat(10_000, index => [textHead(`a${index}`), '']), 'form_too_complex'],
  ['M24 101 texts', repeat(100, index => [textHead(`a${index}`), 'x']), 'form_too_complex'],
  [
    'M24 more than 1 MiB of text',
    repeat(5, index => [textHead(`a${index}`), 'x'.repeat(256 * 1024)]),
    'form_too_complex',
  ],
  ['M27 a header without a colon', headOf(`${textHead('model')}\r\nnonsense`), 'form_malformed'],
  ['M27 a blank before a colon', headOf(`${textHead('a')}\r\nContent-Type : text/plain`), 'form_malformed'],
  ['M27 a blank before the first header', headOf(` ${textHead('a')}`), 'form_malformed'],
  ['M29 an empty body', Buffer.alloc(0), 'form_incomplete'],
  [
    'bytes without a filename, under a field of no files',
    rawForm([model, [`${textHead('other')}\r\nContent-Type: application/octet-stream`, 'x']]),
    'form_malformed',
  ],
  [
    'a text that is cut in the middle of a character',
    rawForm([model, [textHead('a'), Buffer.from('漢字漢字').subarray(0, -1)]]),
    'form_text_undecodable',
  ],
  [
    'a text in a charset that nobody knows',
    headOf(`${textHead('a')}\r\nContent-Type: text/plain; charset=nonsense`),
    'form_text_undecodable',
  ],
  [
    'a text that is not in the charset that it names',
    rawForm([model, [`${textHead('a')}\r\nContent-Type: text/plain; charset=utf-8`, Buffer.from([0x61, 0xff])]]),
    'form_text_undecodable',
  ],
  [
    'a picture without a filename, under a field of no files',
    headOf(`${textHead('other')}\r\nContent-Type: image/png`),
    'form_malformed',
  ],
  [
    'a text of one byte more than 256 KiB',
    rawForm([model, [textHead('a'), 'x'.repeat(256 * 1024 + 1)]]),
    'form_text_too_long',
  ],
]

/** Unusual forms that still have the same model and image. */
export const acceptedForms: readonly (readonly [title: string, body: Buffer, contentType?: string])[] = [
  ['no line end after the last boundary', good.subarray(0, -2)],
  ['two line ends after the last boundary, as openai-node 4 sends them', Buffer.concat([good, Buffer.from('\r\n')])],
  ['a line end before the first boundary', Buffer.concat([Buffer.from('\r\n'), good])],
  ['a preamble of less than 1 KiB', Buffer.concat([Buffer.from('This is a form.\r\n'), good])],
  ['a boundary in quotes, as .NET clients send it', good, type(`boundary="${boundary}"`)],
  ['more parameters of the content type', good, type(`charset=utf-8; boundary=${boundary}`)],
  ['a boundary of 70 characters', rawForm([model, image], 'a'.repeat(70)), type(`boundary=${'a'.repeat(70)}`)],
  ['names without quotes', rawForm([['content-disposition: form-data; name=model', 'm'], image])],
  ['M17 a filename with a path', rawForm([model, [fileHead('image', '../../etc/passwd'), image[1]]])],
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
  ['a semicolon after the boundary', good, type(`boundary=${boundary};`)],
  ['empty parameters of the content type', good, type(`; boundary=${boundary} ; ; charset=utf-8;`)],
  ['M23 a blank in a boundary', rawForm([model, image], 'x Y'), type('boundary="x Y"')],
  ['M23 an escape in a quoted boundary', good, type('boundary="xY\\zZY"')],
  ['M12 a name given twice', rawForm([['Content-Disposition: form-data; name="model"; name="x"', 'm'], image])],
  ['M14 two content-dispositions', rawForm([[`${textHead('model')}\r\n${textHead('x')}`, 'm'], image])],
  ['M27 a folded header', rawForm([['Content-Disposition: form-data;\r\n name="model"', 'm'], image])],
  ['M9 a head of 9 KB', rawForm([[`${textHead('model')}\r\nX-A: ${'a'.repeat(9_000)}`, 'm'], image])],
  ['M10 21 headers in a part', rawForm([[`${textHead('model')}${'\r\nA: 1'.repeat(20)}`, 'm'], image])],
  ['M18 a model with an empty filename', rawForm([[fileHead('model', ''), 'm'], image])],
  ['M21 an epilogue', Buffer.concat([good, Buffer.from('This was a form.\r\n\r\n')])],
  ['M21 a byte after the end', Buffer.concat([good.subarray(0, -2), Buffer.from('x')])],
  ['M21 a form after the end', Buffer.concat([good, good])],
  [
    'M21 a part after the end that does not end',
    Buffer.concat([good, Buffer.from(`--${boundary}\r\n${fileHead('image')}\r\n\r\nx`)]),
  ],
  ['M28 a preamble of 1 MB', Buffer.concat([Buffer.alloc(1_000_000, 'a'), Buffer.from('\r\n'), good])],
  [
    'an empty file input of a browser',
    rawForm([model, [`${fileHead('mask', '')}\r\nContent-Type: application/octet-stream`, ''], image]),
  ],
]

/**
 * Forms with parts that busboy skips, and that count as not sent: the remaining texts and files, files by their size in
 * bytes.
 */
export const skippingForms: readonly (readonly [
  title: string,
  body: Buffer,
  texts: readonly (readonly [name: string, value: string])[],
  files: readonly number[],
])[] = [
  ['M7 a part without content-disposition', headOf('Content-Type: text/plain'), [], [40]],
  ['M7 a disposition other than form-data', headOf('Content-Disposition: attachment; name="model"'), [], [40]],
  ['M15 a quote in a filename', rawForm([model, [fileHead('image', 'a"b.png'), 'x'], image]), [['model', 'm']], [40]],
  [
    'M15 a filename that does not end',
    rawForm([model, ['Content-Disposition: form-data; name="image"; filename="a', 'x'], image]),
    [['model', 'm']],
    [40],
  ],
  [
    'a filename in a charset that nobody knows [6.2]',
    rawForm([model, [`${textHead('image')}; filename*=TF-8''a.png`, 'x'], image]),
    [['model', 'm']],
    [40],
  ],
  [
    'M26 a line in a file that begins like a boundary: the file ends there',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary}X\r\nb`], image]),
    [['model', 'm']],
    [1, 40],
  ],
  [
    'M26 a boundary with one dash after it',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary}-\r\nb`], image]),
    [['model', 'm']],
    [1, 40],
  ],
  [
    'M26 a boundary with blanks after it: the part behind it is lost',
    rawForm([model, [fileHead('image'), `a\r\n--${boundary} \r\n${fileHead('image')}\r\n\r\nb`], image]),
    [['model', 'm']],
    [1, 40],
  ],
  ['M26 a boundary among headers', headOf(`${textHead('a')}\r\n--${boundary}x: y`), [], [40]],
  ['M28 a first boundary that does not begin its line', Buffer.concat([Buffer.from('x'), good]), [], [40]],
  ['M16 an escaped quote in a name', headOf(textHead('mo\\"del')), [['mo"del', 'm']], [40]],
  ['M16 a percent-encoded quote in a name', headOf(textHead('mo%22del')), [['mo%22del', 'm']], [40]],
  [
    'M21 two texts of one name',
    rawForm([
      [textHead('a'), '1'],
      [textHead('a'), '2'],
    ]),
    [
      ['a', '1'],
      ['a', '2'],
    ],
    [],
  ],
  [
    'a text in Latin-1, which it names or not',
    rawForm([
      [`${textHead('a')}\r\nContent-Type: text/plain; charset=ISO-8859-1`, Buffer.from([0xe9])],
      [textHead('b'), Buffer.from([0xe9])],
    ]),
    [
      ['a', 'é'],
      ['b', 'é'],
    ],
    [],
  ],
  [
    'a text in UTF-8, which it names or not, and in UTF-16',
    rawForm([
      [`${textHead('a')}\r\nContent-Type: text/plain; charset=UTF-8`, 'é漢🎈'],
      [textHead('b'), 'é漢🎈\ufffd'],
      [`${textHead('c')}\r\nContent-Type: text/plain; charset=utf-16le`, Buffer.from('é漢', 'utf16le')],
    ]),
    [
      ['a', 'é漢🎈'],
      ['b', 'é漢🎈\ufffd'],
      ['c', 'é漢'],
    ],
    [],
  ],
  [
    'heads of more than 1 MiB',
    rawForm(Array.from({ length: 140 }, () => [fileHead('image', 'a'.repeat(8000)), 'x'])),
    [],
    Array.from({ length: 140 }, () => 1),
  ],
]
