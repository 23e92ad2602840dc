import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import type { Asks } from './damaged-answers.ts'
import { openDamagedShop } from './damaged-shop.ts'
import { collect } from './sdk-gateway.ts'

// Every SDK uses its default retries: whatever the answer, one call buys once. For Python: `npm run test:python`.

const shop = await openDamagedShop(t)
const { url, key } = shop

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
const anthropic = new Anthropic({ baseURL: url, apiKey: key })
const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } })
const userMessages = [{ role: 'user' as const, content: 'a boat' }]

/** What the SDK returns to its caller. */
const calls: { readonly [asks in Asks]: (model: string) => Promise<unknown> } = {
  'openai.images': model => openai.images.generate({ model, prompt: 'a boat' }),
  'openai.images.stream': async model =>
    collect(await openai.images.generate({ model, prompt: 'a boat', stream: true })),
  'openai.chat': model => openai.chat.completions.create({ model, messages: userMessages }),
  'openai.chat.stream': async model =>
    collect(await openai.chat.completions.create({ model, messages: userMessages, stream: true })),
  'openai.responses': model => openai.responses.create({ model, input: 'a boat' }),
  'openai.responses.stream': async model =>
    collect(await openai.responses.create({ model, input: 'a boat', stream: true })),
  'google.content': model => google.models.generateContent({ model, contents: 'a boat' }),
  'google.content.stream': async model =>
    collect(await google.models.generateContentStream({ model, contents: 'a boat' })),
  'anthropic.messages': model => anthropic.messages.create({ model, messages: userMessages, max_tokens: 9 }),
  'anthropic.messages.stream': async model =>
    collect(await anthropic.messages.create({ model, messages: userMessages, max_tokens: 9, stream: true })),
}

await shop.play(t, 'Node', async (asks, model) => {
  try {
    return { text: JSON.stringify((await calls[asks](model)) ?? '') }
  } catch (error) {
    return { text: '', error: String(error) }
  }
})
