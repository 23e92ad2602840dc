import { toFile } from 'openai'
import t from 'tap'
import { start } from '../harness/start.ts'

const { openai, post, charges } = await start(t, { simulated: true })

t.test('completes a text with and without streaming, and charges the tokens of both', async t => {
  const whole = await openai.completions.create({ model: 'sim-chat', prompt: 'one two three', max_tokens: 4 })
  t.match(whole, {
    object: 'text_completion',
    choices: [{ finish_reason: 'length' }],
    usage: { prompt_tokens: 3, completion_tokens: 4 },
  })
  let text = ''
  for await (const { choices } of await openai.completions.create({
    model: 'sim-chat',
    prompt: 'one two three',
    max_tokens: 4,
    stream: true,
  }))
    text += choices[0]?.text ?? ''
  t.equal(text.trimEnd(), whole.choices[0]?.text)
  const [streamed, plain] = await charges()
  for (const charge of [streamed, plain])
    t.match(
      charge,
      {
        state: 'settled',
        lines: [
          { tier: 'input', quantity: 3 },
          { tier: 'output', quantity: 4 },
        ],
      },
      charge === streamed ? 'streamed' : 'plain',
    )
})

t.test('translates a recording, and charges it like a transcription', async t => {
  const file = await toFile(Buffer.alloc(1_000), 'a.wav')
  const answer = await openai.audio.translations.create({ model: 'sim-transcription', file })
  t.match(answer.text, /simulated transcript/)
  t.match((await charges())[0], { state: 'settled', amount: '0.006' })
})

t.test('embeds texts for a stated purpose, and charges the usage that the upstream reports', async t => {
  const body = {
    model: 'sim-embedding',
    input_type: 'search_document',
    texts: ['one two', 'three'],
    embedding_types: ['float'],
  }
  const response = await post('/v2/embed', body)
  t.equal(response.status, 200)
  const answer = (await response.json()) as { embeddings: { float: number[][] }; meta: object }
  t.equal(answer.embeddings.float.length, 2)
  t.match((await charges())[0], { state: 'settled', lines: [{ tier: 'input', quantity: 3 }] })
  const bad = await post('/v2/embed', { ...body, model: 'none' })
  t.equal(bad.status, 404)
  t.match(await bad.json(), { message: /none/ }, 'in the words of its API format')
})
