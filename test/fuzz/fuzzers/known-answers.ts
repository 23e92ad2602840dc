import * as fc from 'fast-check'
import { kinds } from '../readers/made.ts'

// Answers of image operations as vendors write them: pictures in `data`, or none.

type Element = { readonly [name: string]: unknown }
type Vendor = (elements: readonly Element[]) => object
/** Other members of an element next to its picture, and of the object around all elements. */
type Shape = {
  readonly by: 'b64_json' | 'url'
  readonly beside: Element
  readonly around: Vendor
  readonly last?: true
}

const usage = {
  total_tokens: 100,
  input_tokens: 50,
  output_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
}
const prompt = 'a boat, "as in" https://other.example/boat.png, see ![it](https://other.example/b.jpg) \\ \u00e9\u8239'
const safe = { hate: { filtered: false, severity: 'safe' }, jailbreak: { filtered: false, detected: false } }

const shapes: readonly Shape[] = [
  { by: 'b64_json', beside: {}, around: data => ({ created: 1, data }) },
  {
    by: 'b64_json',
    beside: {},
    around: data => ({
      created: 1732240000,
      background: 'opaque',
      data,
      output_format: 'png',
      quality: 'high',
      size: '1024x1024',
      usage,
    }),
  },
  { by: 'url', beside: { revised_prompt: prompt }, around: data => ({ created: 1, data }) },
  { by: 'b64_json', beside: { revised_prompt: prompt }, around: data => ({ created: 1, data }) },
  { by: 'b64_json', beside: { revised_prompt: null, url: null }, around: data => ({ created: 1, data }) },
  {
    by: 'url',
    beside: { content_filter_results: safe, prompt_filter_results: safe, revised_prompt: prompt },
    around: data => ({ created: 1, data }),
  },
  {
    by: 'url',
    beside: { revised_prompt: '', respect_moderation: true },
    around: data => ({ data, usage: { cost_in_usd_ticks: 400000000 } }),
  },
  {
    by: 'b64_json',
    beside: { media_type: 'image/png' },
    around: data => ({ created: 1, data, usage: { cost: 0.04, completion_tokens_details: { image_tokens: 1290 } } }),
  },
  {
    by: 'b64_json',
    beside: { index: 0, type: 'b64_json' },
    around: data => ({ id: 'a-1', model: 'm', object: 'list', data }),
  },
  { by: 'url', beside: { index: 0, type: 'url' }, around: data => ({ id: 'a-1', model: 'm', object: 'list', data }) },
  { by: 'url', beside: { image_id: '3f' }, around: data => ({ created: 1, credits: 1, data }) },
  { by: 'url', beside: {}, around: data => ({ created: 1, data, content_filter: [{ role: 'user', level: 3 }] }) },
  { by: 'b64_json', beside: {}, around: data => ({ data, model: 'm' }) },
  {
    by: 'url',
    beside: { size: '1760x2368' },
    around: data => ({
      model: 'm',
      created: 1757321139,
      data,
      usage: { generated_images: data.length, output_tokens: 6240, total_tokens: 6240 },
    }),
  },
  {
    by: 'b64_json',
    beside: { size: '2048x2048', output_format: 'png' },
    around: data => ({ model: 'm', created: 1, data }),
  },
  {
    by: 'url',
    beside: { prompt, resolution: '1024x1024', is_image_safe: true, seed: 12345, style_type: 'GENERAL' },
    around: data => ({ created: '2026-11-22T00:00:00Z', data }),
  },
  { by: 'url', beside: {}, around: data => ({ created: 1, data, error: null }) },
]

/** Answers that are known to have no image: an empty list in place of images, or only an error. */
const empty: readonly object[] = [
  { data: [] },
  { created: 1, data: [] },
  { created: 1, data: [], usage },
  { created: 1732240000, data: [], output_format: 'png', quality: 'high', size: '1024x1024', usage },
  {
    error: {
      message: 'Your request was rejected by the safety system',
      type: 'user_error',
      param: null,
      code: 'moderation_blocked',
    },
  },
  {
    error: {
      code: 'content_filter',
      message: 'see https://docs.example/filters',
      inner_error: { content_filter_results: safe },
    },
  },
]

export type Known = { readonly body: string; readonly images: number }

const element = fc.record({
  id: fc.nat(40),
  kind: fc.constantFrom(...kinds),
  size: fc.oneof(fc.integer({ min: 200, max: 900 }), fc.integer({ min: 900, max: 20_000 })),
})

/** Pretty-printed too, as several vendors send it. */
export const knownAnswers: fc.Arbitrary<Known> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...shapes), fc.array(element, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 0, 2))
      .map(([{ by, beside, around }, elements, indent]) => {
        const picture = by === 'url' ? 'L' : 'P'
        const data = elements.map(({ id, kind, size }) => ({ ...beside, [by]: `{{${picture}${id}.${kind}.${size}}}` }))
        return { body: JSON.stringify(around(data), null, indent), images: data.length }
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...empty), fc.constantFrom(0, 2))
      .map(([answer, indent]) => ({ body: JSON.stringify(answer, null, indent), images: 0 })),
  },
)
