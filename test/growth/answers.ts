import { EventScanner } from '../../plugins/image-tier-billing/scan-events.ts'
import { ImageScanner } from '../../plugins/image-tier-billing/scan-images.ts'
import { ToolAnswerScanner } from '../../plugins/image-tier-billing/scan-tool-answer.ts'
import { ToolEventScanner } from '../../plugins/image-tier-billing/scan-tool-events.ts'
import { type Scanner, Unreadable, Unrecognised } from '../../plugins/image-tier-billing/scan-result.ts'
import { wholeEventsBytesMax } from '../../plugins/image-tier-billing/held-record.ts'
import { ByteBudget } from '../../src/wire/index.ts'
import { around, fill, type Generator } from './bodies.ts'
import type { Reader } from './readers.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAABOYAAAXmCAIAAAA'

/** Answers of image operations: list elements, and members next to the list. */
const images: { readonly [name: string]: Generator } = {
  'one image': bytes => around(`{"data":[{"b64_json":"${png}`, fill(bytes, 'AAAA'), '"}]}'),
  'one image of escapes': bytes => around(`{"data":[{"b64_json":"${png}`, fill(bytes, 'AAA\\/'), '"}]}'),
  'many images': bytes => around('{"data":[', fill(bytes, `{"b64_json":"${png}"},`), `{"b64_json":"${png}"}]}`),
  'many links': bytes => listed(bytes, i => `{"url":"https://a.example/${i}"}`),
  'many links told twice': bytes =>
    listed(bytes, i => `{"url":"https://a.example/${i}","same":"https://a.example/${i}"}`),
  'links told before': bytes =>
    around(`{"same":[${times(2_000, i => `"a://${i}"`)}],`, listed(bytes, i => `{"url":"a://${i}"}`).subarray(1)),
  // An invalid link is refused after 64 KiB of the data behind it.
  'links held among images': bytes =>
    around(
      listed(bytes, i => `{"url":"b://${i}"}`).subarray(0, -2),
      `,{"x":[${times(Math.min(3_000, bytes / 50), i => `"a://${i}"`)}]},`,
      listed(Math.min(bytes, 60_000), i => `{"url":"c://${i}"}`).subarray(9),
    ),
  'many elements': bytes => around('{"data":[', fill(bytes, '{},'), '{}]}'),
  'many names': bytes => listed(bytes, i => `{"url":"a://${i}","size":"a"}`),
  'short texts': bytes => around('{"data":[{"revised_prompt":[', fill(bytes, '"a",'), '"a"]}]}'),
  'one text': bytes => around('{"data":[{"revised_prompt":"', fill(bytes, 'a boat '), '"}]}'),
  'escaped text': bytes => around('{"data":[{"revised_prompt":"', fill(bytes, '\\u6e2f\\n'), '"}]}'),
  'texts of prompts': bytes => around('{"data":[', fill(bytes, '{"revised_prompt":"a boat"},'), '{}]}'),
  numbers: bytes => around('{"data":[],"x":[', fill(bytes, '1,'), '1]}'),
  blanks: bytes => around('{"data":[', fill(bytes, ' \n'), ']}'),
  nested: bytes => around('{"data":[{"x":[', fill(bytes, `${'['.repeat(50)}${']'.repeat(50)},`), '1]}]}'),
}

/** Not too short, so that the measurement is not dominated by garbage that digests leave to the collector. */
const picture = png + 'A'.repeat(4_000)

const item = '"type":"image_generation_call"'
/** Results of tools, and the model's text about them. */
const results: { readonly [name: string]: Generator } = {
  'one result': bytes => around(`{"output":[{${item},"result":"${png}`, fill(bytes, 'AAAA'), '"}]}'),
  'many results': bytes => around('{"output":[', fill(bytes, `{${item},"result":"${picture}"},`), '{}]}'),
  'many links': bytes => around('{"output":[{"x":[', fill(bytes, '"a://b",'), '"a://b"]}]}'),
  'links, then images': bytes =>
    around(
      '{"output":[{"x":[',
      fill(bytes / 2, '"a://b",'),
      '1],"y":[',
      fill(bytes / 2, '[[{"type":"image"}]],'),
      '1]}]}',
    ),
  'links with types': bytes => around('{"output":[{"x":[', fill(bytes, '{"type":"a","u":"a://b"},'), '1]}]}'),
  'many words': bytes => around('{"output":[{"x":[', fill(bytes, '"word",'), '"word"]}]}'),
  'one word': bytes => around('{"output":[{"x":"', fill(bytes, 'word '), '"}]}'),
  nested: bytes => around('{"output":[{"x":[', fill(bytes, `${'['.repeat(50)}${']'.repeat(50)},`), '1]}]}'),
}

const imageEvents = eventsOf({
  'many images': i => `{"type":"image_generation.completed","index":${i},"b64_json":"${picture}"}`,
  'many previews': i => `{"type":"image_generation.partial_image","partial_image_index":${i},"b64_json":"${picture}"}`,
  'many words': i => `{"type":"image_generation.text","text":"thought ${i}"}`,
  'small events': () => '{"type":"a"}',
})
const toolEvents = eventsOf({
  'many results': i => `{"type":"response.output_item.done","item":{"id":"${i}",${item},"result":"${picture}"}}`,
  'many lists': () => `{"type":"response.completed","response":{"output":[{${item},"result":"${picture}"}]}}`,
  'many deltas': i => `{"type":"response.output_text.delta","delta":"word ${i}"}`,
  'links in items': () => '{"item":{"x":["a://b","a://b"]}}',
})
/** One event with the complete answer. */
const oneResult = (kinds: typeof results): typeof results =>
  Object.fromEntries(
    Object.entries(kinds).map(([name, make]) => [name, bytes => around('data: {"response":', make(bytes), '}\n\n')]),
  )

/** Scanners that find images in answers, each in chunks as a connection delivers them, and byte by byte. */
export const scanners: readonly Reader[] = [
  ...pair('answer with images', images, () => new ImageScanner()),
  ...pair('answer with images, to links', images, () => new ImageScanner({ asUrl: true })),
  ...pair('answer of tools', results, () => new ToolAnswerScanner()),
  ...pair('events with images', imageEvents, () => new EventScanner(new ByteBudget(wholeEventsBytesMax))),
  ...pair(
    'events of tools',
    { ...toolEvents, ...oneResult(results) },
    () => new ToolEventScanner(new ByteBudget(wholeEventsBytesMax)),
  ),
  {
    name: 'events of tools, by tails',
    kinds: { ...toolEvents, ...oneResult(results) },
    read: bytes => scan(bytes, 65_536, new ToolEventScanner(new ByteBudget(0))),
  },
]

function pair(name: string, kinds: Reader['kinds'], open: () => Scanner): Reader[] {
  const firstTwo = Object.fromEntries(Object.entries(kinds).slice(0, 2))
  return [
    { name, kinds, read: bytes => scan(bytes, 65_536, open()) },
    { name: `${name}, byte by byte`, kinds: firstTwo, bytesMax: 1 << 15, read: bytes => scan(bytes, 1, open()) },
  ]
}

/** A refused answer has been read up to the refusal. */
export function scan(bytes: Buffer, chunkBytes: number, scanner: Scanner): void {
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) scanner.write(bytes.subarray(at, at + chunkBytes))
    scanner.end()
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof Unrecognised)) throw error
  } finally {
    scanner.close?.()
  }
}

function times(count: number, make: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => make(i)).join(',')
}

function listed(bytes: number, element: (i: number) => string): Buffer {
  return Buffer.from(`{"data":[${times(Math.max(1, Math.floor(bytes / element(1_000).length)), element)}]}`)
}

function eventsOf(kinds: { readonly [name: string]: (i: number) => string }): { readonly [name: string]: Generator } {
  return Object.fromEntries(
    Object.entries(kinds).map(([name, make]) => [
      name,
      (bytes: number) =>
        Buffer.from(
          Array.from({ length: Math.ceil(bytes / make(1_000).length) }, (_, i) => `data: ${make(i)}\n\n`).join(''),
        ),
    ]),
  )
}
