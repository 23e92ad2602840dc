import { around, fill, type Generator } from './bodies.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAABOYAAAXmCAIAAAA'
/** Not too short, so that the text around a picture does not dominate the measurement. */
export const picture = png + 'A'.repeat(4_000)

/** Answers of vendors whose format is described in a file, and their answers to polls of a job. */
export const vendorAnswers: { readonly [name: string]: Generator } = {
  'a picture': bytes => around(`{"status":"done","output":["${png}`, fill(bytes, 'AAAA'), '"]}'),
  'a picture, its state behind it': bytes => around(`{"output":["${png}`, fill(bytes, 'AAAA'), '"],"status":"done"}'),
  pictures: bytes => around('{"output":[', fill(bytes, `"${picture}",`), `"${picture}"],"status":"done"}`),
  links: bytes => listed(bytes, i => `"https://a.example/${i}"`),
  'small pictures': bytes => around('{"output":[', fill(bytes, '"iVBORw0KGgo=",'), '"iVBORw0KGgo="],"status":"done"}'),
  'numbers in the list': bytes => around('{"status":"done","output":[', fill(bytes, '1,'), '1]}'),
  'numbers beside it': bytes => around('{"status":"done","x":[', fill(bytes, '1,'), `1],"output":["${png}"]}`),
  'objects in the list': bytes => around('{"status":"done","output":[', fill(bytes, '{"a":1},'), '{}]}'),
  'objects beside it': bytes => around('{"status":"done","x":[', fill(bytes, '{"a":1},'), `1],"output":["${png}"]}`),
  'states without end': bytes => around('{"status":[', fill(bytes, '"run",'), `"done"],"output":["${png}"]}`),
  'a state without end': bytes => around('{"status":"', fill(bytes, 'run '), `","output":["${png}"]}`),
  'names without end': bytes => around('{"status":"done","', fill(bytes, 'name'), `":1,"output":["${png}"]}`),
  'escaped names': bytes => around('{"status":"done","x":[', fill(bytes, '{"\\u006eame":1},'), '{}]}'),
  nested: bytes => around('{"status":"done","output":[', fill(bytes, `${'['.repeat(50)}${']'.repeat(50)},`), '1]}'),
  blanks: bytes => around('{"status":"done","output":[', fill(bytes, ' \n'), `"${png}"]}`),
  errors: bytes => around('{"status":"failed","errors":[', fill(bytes, '{"message":"no"},'), '{}]}'),
}

/** Bodies with lists of the maximum number of pictures. */
const lists: { readonly [name: string]: (bytes: number, model: string) => Buffer } = {
  'many links': (bytes, model) => pictureList(bytes, model, i => `"https://a.example/${i}"`),
  'many data URLs': (bytes, model) => pictureList(bytes, model, () => `"data:image/png;base64,${png}"`),
  'many objects': (bytes, model) => pictureList(bytes, model, i => `{"image_url":{"url":"https://a.example/${i}"}}`),
  'many of no picture': (bytes, model) => pictureList(bytes, model, () => '"a"'),
  'a large one': (bytes, model) =>
    pictureList(0, model, () => `"data:image/png;base64,${fill(bytes, png).toString()}"`),
  'one of blanks': (bytes, model) =>
    pictureList(0, model, () => `"data:image/png;base64,${fill(bytes, '    ').toString()}"`),
  'a JPEG without a size': (bytes, model) =>
    pictureList(0, model, () => `"data:image/jpeg;base64,/9j/4AAEAAA${fill(bytes, 'AAAA').toString()}"`),
}

/** The same for a model whose format is described, and for one whose pictures are measured for their price. */
export const pictureLists: { readonly [name: string]: Generator } = Object.fromEntries(
  Object.entries(lists).flatMap(([name, make]): [string, Generator][] => [
    [name, bytes => make(bytes, 'told')],
    [`${name}, measured`, bytes => make(bytes, 'measured')],
  ]),
)

function listed(bytes: number, element: (i: number) => string): Buffer {
  const count = Math.max(1, Math.floor(bytes / element(1_000).length))
  return Buffer.from(`{"status":"done","output":[${Array.from({ length: count }, (_, i) => element(i)).join(',')}]}`)
}

function pictureList(bytes: number, model: string, element: (i: number) => string): Buffer {
  // A field with more brackets, colons and commas is refused before it is read.
  const most = element(0).startsWith('{') ? 9_900 : 49_900
  const count = Math.min(most, Math.max(1, Math.floor(bytes / element(1_000).length)))
  const pictures = Array.from({ length: count }, (_, i) => element(i))
  return Buffer.from(`{"model":"${model}","prompt":"p","images":[${pictures.join(',')}]}`)
}
