import { around, fill, type Generator } from './bodies.ts'

const url = 'iVBORw0KGgoAAAANSUhEUgAABOYAAAXm'

/** Bodies with one large field that the gateway reads. */
export const requests: { readonly [name: string]: Generator } = {
  'a large model': bytes => around('{"model":"', fill(bytes, 'm'), '"}'),
  'a large stream': bytes => around('{"model":"m","stream":["', fill(bytes, '\\n'), '"]}'),
  'a large n': bytes => around('{"model":"image","prompt":"p","n":"', fill(bytes, '\\n'), '"}'),
  'a large size': bytes => around('{"model":"image","prompt":"p","size":["', fill(bytes, '\\n'), '"]}'),
  'large tools': bytes =>
    around('{"model":"m","input":"x","tools":[{"type":"function","name":"', fill(bytes, 'x\\n'), '"}]}'),
  'a large input': bytes => around('{"model":"m","input":"', fill(bytes, '\\u6e2f\\n'), '"}'),
  'large documents': bytes => around('{"model":"m","query":"q","documents":["', fill(bytes, 'x\\n'), '"]}'),
  'a large image field': bytes =>
    around(`{"model":"image","prompt":"p","image":"data:image/png;base64,`, fill(bytes, url), '"}'),
  'a large prompt': bytes => around('{"model":"image","prompt":"', fill(bytes, '\\u6e2f\\n'), '"}'),
  'a list of numbers': bytes =>
    around(
      '{"model":"image","prompt":[',
      fill(Math.min(bytes, 370_000), '1,'),
      '1, "',
      fill(bytes - 370_000, 'x'),
      '"]}',
    ),
  'an odd prompt': bytes =>
    around('{"model":"image","prompt":{"a":[[["', fill(bytes, '\\ud83d\\ude00'), '"]]],"b":1}}'),
  small: () => Buffer.from('{"model":"m","stream":true,"messages":[]}'),
  'small image': () => Buffer.from('{"model":"image","prompt":"p"}'),
  'small, told': () => Buffer.from('{"model":"told","prompt":"p"}'),
  'small, made': () => Buffer.from('{"model":"made","prompt":"p"}'),
}

/** Answers of upstreams. */
export const answers: { readonly [name: string]: Generator } = {
  'chat of escapes': bytes =>
    around(
      '{"choices":[{"message":{"content":"',
      fill(bytes, '\\n\\"'),
      '"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
    ),
  'chat of numbers': bytes =>
    around('{"data":[', fill(bytes, '1,'), '1],"usage":{"prompt_tokens":1,"completion_tokens":1}}'),
  'an image': bytes => around(`{"created":1,"data":[{"b64_json":"${url}`, fill(bytes, url), '"}]}'),
  'event with usage': bytes =>
    around(
      'data: {"type":"response.completed","response":{"text":"',
      fill(bytes, 'word\\n'),
      '","usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    ),
  'event with usage, numbers': bytes =>
    around(
      'data: {"type":"response.completed","response":{"x":[',
      fill(bytes, '1,'),
      '1],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    ),
}
