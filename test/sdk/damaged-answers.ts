import { png } from '../harness/pictures.ts'

/** The caller: an SDK and one of its methods. */
export type Asks =
  | 'openai.images'
  | 'openai.images.stream'
  | 'openai.chat'
  | 'openai.chat.stream'
  | 'openai.responses'
  | 'openai.responses.stream'
  | 'google.content'
  | 'google.content.stream'
  | 'anthropic.messages'
  | 'anthropic.messages.stream'

/** One faulty answer of an upstream, and the expected result. */
export type Damaged = {
  readonly title: string
  readonly asks: Asks
  readonly model: string
  readonly answer: { readonly status?: number; readonly type?: string; readonly body: string }
  /** Number of images that reach the client, each of them charged; with none the client gets an error. */
  readonly images: number
  /** The state of its charge: settled if images arrived; `needs_review` if one may have been bought. */
  readonly state: 'settled' | 'voided' | 'needs_review'
  /** Whether the charge is flagged. */
  readonly isFlagged?: boolean
}

const picture = (side: number): string => png(side, side).toString('base64')
const link = (name: string): string => `https://cdn.example/${name}.png`
/** Text that no client may receive. */
export const foreign = /foreign/
const other = link('foreign')
const page = 'https://api.example/foreign/self'

const json = (value: unknown) => ({ body: JSON.stringify(value) })
const events = (...all: readonly (readonly [name: string, value: object])[]) => ({
  type: 'text/event-stream',
  body: all.map(([name, value]) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...value })}\n\n`).join(''),
})
const answers = (...all: readonly object[]) => ({
  type: 'text/event-stream',
  body: all.map(one => `data: ${JSON.stringify(one)}\n\n`).join(''),
})

const images = { asks: 'openai.images', model: 'beta-imagine-image' } as const
const bytes = { asks: 'openai.images', model: 'alpha-image-2' } as const
const streamed = { asks: 'openai.images.stream', model: 'alpha-image-2' } as const
const native = { asks: 'google.content', model: 'gemini-3-pro-image' } as const
const translated = { asks: 'openai.images', model: 'gemini-3-pro-image' } as const
const chat = { asks: 'openai.chat', model: 'google/gemini-2.5-flash-image' } as const
const text = { model: 'sim-chat' } as const
const messages = { asks: 'anthropic.messages', model: 'sim-messages' } as const
const foreignAnswer = { choices: [{ index: 0, message: { content: 'foreign' }, delta: { content: 'foreign' } }] }
const spoken = { candidates: [{ content: { parts: [{ text: 'foreign' }] } }] }
const settled = { images: 1, state: 'settled' } as const
const flagged = { ...settled, isFlagged: true } as const
const review = { images: 0, state: 'needs_review' } as const
const free = { images: 0, state: 'voided' } as const

const one = { url: link('a') }
const completed = ['image_generation.completed', { b64_json: picture(64) }] as const
const parts = (...list: readonly object[]) => ({
  candidates: [{ content: { role: 'model', parts: list }, finishReason: 'STOP', index: 0 }],
})
const inline = { inlineData: { mimeType: 'image/png', data: picture(64) } }
const message = (more: object) => ({
  id: 'gen-1',
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Here.', ...more } }],
})
const shown = { images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture(64)}` } }] }
const delta = (more: object) => ({ id: 'gen-1', choices: [{ index: 0, delta: { content: '', ...more } }] })

/**
 * Answers of vendors that caused faults at a client: charged and withheld, delivered without a charge, or bought again
 * by an SDK that retries what looks like a lost connection. Each new kind gets a row.
 */
export const damaged: readonly Damaged[] = [
  // Foreign links around the picture.
  {
    ...images,
    title: 'a link before the list',
    answer: json({ created: 1, links: { self: page }, data: [one] }),
    ...flagged,
  },
  {
    ...images,
    title: 'a link behind the list',
    answer: json({ created: 1, data: [one], links: { self: page } }),
    ...flagged,
  },
  { ...images, title: 'a link behind the picture', answer: json({ data: [{ ...one, thumbnail: other }] }), ...flagged },
  { ...images, title: 'a link before the picture', answer: json({ data: [{ thumbnail: other, ...one }] }), ...flagged },
  {
    ...images,
    title: 'a second link of an image',
    answer: json({ data: [{ ...one, image_url: other, variants: [other] }] }),
    ...flagged,
  },
  { ...images, title: 'images beside data', answer: json({ data: [one], images: [{ url: other }] }), ...flagged },
  {
    ...images,
    title: 'data twice',
    answer: { body: `{"data":[{"url":"${link('a')}"}],"data":[{"url":"${other}"}]}` },
    ...flagged,
  },
  {
    ...images,
    title: 'a link twice',
    answer: { body: `{"data":[{"url":"${link('a')}","url":"${other}"}]}` },
    ...flagged,
  },
  {
    ...images,
    title: 'another object behind the answer',
    answer: { body: `{"data":[{"url":"${link('a')}"}]}{"url":"${other}"}` },
    ...flagged,
  },
  { ...images, title: 'a link as a name', answer: json({ data: [one], [page]: 1 }), ...flagged },
  {
    ...bytes,
    title: 'credentials of the content behind large bytes',
    answer: json({ data: [{ b64_json: picture(3_000), content_credentials: page }] }),
    ...flagged,
  },
  {
    ...bytes,
    title: 'a link in front of bytes',
    answer: json({ provider_link: page, data: [{ b64_json: picture(3_000) }] }),
    ...flagged,
  },
  {
    ...bytes,
    title: 'more than belongs to a picture behind it',
    answer: json({
      data: [{ b64_json: picture(64) }],
      trace: Array.from({ length: 900 }, (_, i) => `${i} ${'word '.repeat(9)}`),
    }),
    ...flagged,
  },
  {
    ...images,
    title: 'the picture under a name that nobody knows',
    answer: json({ created: 1, images: [{ url: other }] }),
    ...review,
  },
  { ...images, title: 'a job', answer: json({ id: 'job-1', status: 'queued' }), ...review },
  // Streams.
  {
    ...streamed,
    title: 'a link in the event of the picture',
    answer: events([completed[0], { ...completed[1], preview: other }]),
    ...flagged,
  },
  {
    ...streamed,
    title: 'an event of another kind with a picture before it',
    answer: events(['image.thumbnail', { b64_json: picture(8), note: 'foreign' }], completed),
    ...flagged,
  },
  {
    ...streamed,
    title: 'an event of another kind with a link behind it',
    answer: events(completed, ['image.saved', { url: other }]),
    ...flagged,
  },
  {
    ...streamed,
    title: 'a line that no event has',
    answer: { type: 'text/event-stream', body: `link: ${page}\n${events(completed).body}` },
    ...flagged,
  },
  {
    ...streamed,
    title: 'events of a kind that nobody knows',
    answer: events(['image.done', { url: other }]),
    ...review,
  },
  // A vendor's own format, passed on.
  {
    ...native,
    title: 'a link beside the candidates',
    answer: json({ ...parts({ text: 'Here.' }, inline), downloadUri: other }),
    ...flagged,
  },
  { ...native, title: 'a link in the part', answer: json(parts({ ...inline, thumbnailUri: other })), ...flagged },
  {
    ...native,
    title: 'sources of a search for images',
    answer: json({
      candidates: [
        {
          ...parts(inline).candidates[0],
          groundingMetadata: {
            groundingChunks: [
              { image: { sourceUri: 'https://a.example/p', imageUri: 'https://a.example/p.jpg', title: 'a' } },
            ],
          },
          urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://a.example/q' }] },
        },
      ],
    }),
    ...settled,
  },
  {
    ...native,
    asks: 'google.content.stream',
    title: 'a link in an event before the picture',
    answer: answers(parts({ text: 'Here.', sourceLink: page }), parts(inline)),
    ...flagged,
  },
  {
    ...translated,
    title: 'a link beside the candidates, translated',
    answer: json({ ...parts(inline), downloadUri: other }),
    ...settled,
  },
  {
    ...chat,
    title: 'a link of the provider',
    answer: json({ ...message(shown), provider_link: 'https://a.example/x' }),
    ...settled,
  },
  { ...chat, title: 'a link beside the images', answer: json(message({ ...shown, image_links: [other] })), ...flagged },
  {
    ...chat,
    asks: 'openai.chat.stream',
    title: 'a link behind the images',
    answer: answers(delta(shown), { ...delta({}), raw_url: other }),
    ...flagged,
  },
  {
    ...chat,
    title: 'a thumbnail in the image, before and behind its link',
    answer: json(
      message({
        images: [{ thumbnail: other, type: 'image_url', image_url: { preview: other, ...shown.images[0]?.image_url } }],
      }),
    ),
    ...flagged,
  },
  {
    ...images,
    title: 'images in front of data',
    answer: json({ images: [{ url: other }], data: [one] }),
    ...flagged,
  },
  {
    ...images,
    title: 'links and thumbnails around two pictures',
    answer: json({
      links: [page],
      data: [
        { ...one, thumbnail: other },
        { preview: { url: other }, url: link('b') },
      ],
      next: page,
    }),
    ...flagged,
    images: 2,
  },
  {
    ...native,
    title: 'sources of a search for images at the top',
    answer: json({ groundingMetadata: { imageUri: 'https://a.example/p.jpg' }, ...parts(inline) }),
    ...settled,
  },
  {
    ...native,
    asks: 'google.content.stream',
    title: 'sources of a search for images behind the picture',
    answer: answers(parts(inline), {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          groundingMetadata: { groundingChunks: [{ image: { imageUri: 'https://a.example/p.jpg' } }] },
        },
      ],
    }),
    ...settled,
  },
  {
    ...chat,
    asks: 'openai.chat.stream',
    title: 'a link of the provider in front of the images',
    answer: answers({ ...delta({}), provider_link: 'https://a.example/x' }, delta(shown)),
    ...settled,
  },
  // Answers of another kind than requested: images of a known format are converted, the text of a chat is refused.
  {
    ...streamed,
    title: 'JSON for a stream',
    answer: json({ created: 1, data: [{ b64_json: picture(64) }] }),
    ...settled,
  },
  {
    ...streamed,
    title: 'JSON for a stream, with links around it',
    answer: json({ links: page, data: [{ b64_json: picture(64) }], next: page }),
    ...settled,
  },
  {
    ...streamed,
    title: 'JSON that calls itself events',
    answer: { ...json({ data: [{ b64_json: picture(64) }] }), type: 'text/event-stream' },
    ...settled,
  },
  { ...streamed, title: 'a page for a stream', answer: { type: 'text/html', body: '<p>foreign' }, ...free },
  { ...bytes, title: 'events for one answer', answer: events(completed), ...settled },
  {
    ...bytes,
    title: 'events that call themselves JSON',
    answer: { ...events(completed), type: 'application/json' },
    ...settled,
  },
  {
    ...bytes,
    title: 'events for one answer, with a link',
    answer: events(completed, ['x', { url: other }]),
    ...flagged,
  },
  {
    ...native,
    title: 'events for one answer, in the style of Gemini',
    answer: answers(parts(inline)),
    ...review,
  },
  {
    ...native,
    asks: 'google.content.stream',
    title: 'JSON for a stream, in the style of Gemini',
    answer: json(parts(inline)),
    ...review,
  },
  { ...chat, title: 'events for one chat with an image', answer: answers(delta(shown)), ...review },
  {
    ...chat,
    asks: 'openai.chat.stream',
    title: 'JSON for a streamed chat with an image',
    answer: json(message(shown)),
    ...review,
  },
  { ...text, asks: 'openai.chat', title: 'events for a chat', answer: answers(foreignAnswer), ...review },
  { ...text, asks: 'openai.chat.stream', title: 'JSON for a streamed chat', answer: json(foreignAnswer), ...review },
  {
    ...text,
    asks: 'openai.chat.stream',
    title: 'JSON for a streamed chat that calls itself events',
    answer: { ...json(foreignAnswer), type: 'text/event-stream' },
    ...review,
  },
  { ...text, asks: 'openai.responses', title: 'events for a response', answer: answers(foreignAnswer), ...review },
  {
    ...text,
    asks: 'openai.responses.stream',
    title: 'JSON for a streamed response',
    answer: json(foreignAnswer),
    ...review,
  },
  { ...messages, title: 'events for a message', answer: events(['message_start', foreignAnswer]), ...review },
  {
    ...messages,
    asks: 'anthropic.messages.stream',
    title: 'JSON for a streamed message',
    answer: json({ type: 'message', content: [{ type: 'text', text: 'foreign' }] }),
    ...review,
  },
  {
    asks: 'google.content',
    model: 'sim-generative',
    title: 'events for generated text',
    answer: answers(spoken),
    ...review,
  },
  {
    asks: 'google.content.stream',
    model: 'sim-generative',
    title: 'JSON for a stream of generated text',
    answer: json(spoken),
    ...review,
  },
  {
    ...text,
    asks: 'openai.chat',
    title: 'a page for a chat',
    answer: { type: 'text/html', body: '<p>foreign' },
    ...review,
  },
  // Translated streams.
  {
    ...translated,
    asks: 'openai.images.stream',
    title: 'the same picture twice in one stream, translated',
    answer: answers(parts(inline), parts({ text: 'Again.' }, inline)),
    ...settled,
  },
  {
    ...translated,
    asks: 'openai.images.stream',
    title: 'data that is no JSON object behind the picture, translated',
    answer: { type: 'text/event-stream', body: `${answers(parts(inline)).body}data: foreign\n\n` },
    ...flagged,
  },
  {
    ...translated,
    asks: 'openai.images.stream',
    title: 'another object behind that of the picture, translated',
    answer: {
      type: 'text/event-stream',
      body: `data: ${JSON.stringify(parts(inline))}{"url":"${other}"}\n\n`,
    },
    ...flagged,
  },
  {
    ...translated,
    title: 'another object behind the answer, translated',
    answer: { body: `${JSON.stringify(parts(inline))}{"url":"${other}"}` },
    ...flagged,
  },
  { ...translated, title: 'null, translated', answer: { body: 'null' }, ...free },
  { ...translated, title: 'an empty list, translated', answer: { body: '[]' }, ...free },
  { ...translated, title: 'a list with a link, translated', answer: { body: `["${other}"]` }, ...review },
  {
    ...translated,
    title: 'a page with an image, translated',
    answer: { type: 'text/html', body: `<!doctype html><img src="${other}">` },
    ...review,
  },
  // Empty answers.
  { ...streamed, title: 'nothing for a stream, 204', answer: { status: 204, body: '' }, ...free },
  { ...images, title: 'nothing, 304', answer: { status: 304, body: '' }, ...free },
  { ...native, title: 'nothing, 204, in the style of Gemini', answer: { status: 204, body: '' }, ...free },
  { ...translated, title: 'nothing, 204, translated', answer: { status: 204, body: '' }, ...free },
  { ...translated, title: 'a page, translated', answer: { type: 'text/html', body: '<p>Sign in' }, ...free },
  { ...text, asks: 'openai.chat.stream', title: 'a streamed chat of 204', answer: { status: 204, body: '' }, ...free },
  { ...text, asks: 'openai.responses', title: 'a response of 304', answer: { status: 304, body: '' }, ...free },
  {
    ...messages,
    asks: 'anthropic.messages.stream',
    title: 'streamed messages of 304',
    answer: { status: 304, body: '' },
    ...free,
  },
  {
    ...chat,
    asks: 'openai.chat.stream',
    title: 'the same picture three times, other text between',
    answer: answers(delta(shown), delta({ content: 'Again.' }), delta(shown), { ...delta(shown), usage: {} }),
    ...settled,
  },
  { ...images, title: 'nothing, 204', answer: { status: 204, body: '' }, ...free },
  { ...text, asks: 'openai.chat', title: 'a chat of 204', answer: { status: 204, body: '' }, ...free },
  { ...text, asks: 'openai.chat', title: 'a chat of 304', answer: { status: 304, body: '' }, ...free },
  { ...messages, title: 'messages of 204', answer: { status: 204, body: '' }, ...free },
  {
    ...chat,
    asks: 'openai.chat.stream',
    title: 'the same picture twice in one stream',
    answer: answers(delta(shown), delta(shown)),
    ...settled,
  },
  { ...images, title: 'a page', answer: { type: 'text/html', body: '<!doctype html><p>Sign in' }, ...free },
  { ...images, title: 'null', answer: { body: 'null' }, ...free },
  { ...images, title: 'an empty list', answer: { body: '[]' }, ...free },
]
