import type { Operation } from './operation.ts'
import { curl, helloContents, node, python, write } from './samples.ts'
import { conversation, object, instructionsHelp, tools } from './schemas.ts'

/** Google's generative API: the path names the model and decides whether the answer streams. */
export const generate: Operation = {
  name: 'generate',
  style: 'google',
  path: '/v1beta/models/{model}:generateContent',
  body: 'json',
  words: {
    en: { label: 'Generative', summary: 'Generate content in the generative-language format' },
    zh: { label: 'Generative', summary: 'generative-language 格式的生成' },
  },
  fields: {
    contents: conversation,
    systemInstruction: { schema: object, ...instructionsHelp },
    generationConfig: { schema: object, en: 'maxOutputTokens, temperature …', zh: 'maxOutputTokens、temperature 等。' },
    tools,
  },
  question: (text, most) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
    ...(most !== undefined && { generationConfig: { maxOutputTokens: most } }),
  }),
  smallest: () => ({
    json: { contents: [{ role: 'user', parts: [{ text: 'Say yes.' }] }], generationConfig: { maxOutputTokens: 16 } },
  }),
  samples: call => [
    curl(call, { contents: helloContents }, ['x-goog-api-key: $API_KEY']),
    python([
      'import os',
      'from google import genai',
      '',
      `client = genai.Client(api_key=os.environ["API_KEY"], http_options={"base_url": ${write(call.baseUrl)}})`,
      `print(client.models.generate_content(model=${write(call.model)}, contents="Hello").text)`,
    ]),
    node([
      "import { GoogleGenAI } from '@google/genai'",
      '',
      `const client = new GoogleGenAI({ apiKey: process.env.API_KEY, httpOptions: { baseUrl: ${write(call.baseUrl)} } })`,
      `const answer = await client.models.generateContent({ model: ${write(call.model)}, contents: 'Hello' })`,
      'console.log(answer.text)',
    ]),
  ],
  firstSteps: [
    {
      name: 'generative',
      text: `curl {baseUrl}/v1beta/models/{model}:generateContent \\
  -H "x-goog-api-key: {secret}" \\
  -H "Content-Type: application/json" \\
  -d '{"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}'`,
    },
  ],
  listedAs: 'generateContent',
  otel: 'generate_content',
  traits: {
    // Its answers may be images or speech.
    repeatable: {
      unless: ['generationConfig', 'generation_config'].flatMap(name => [
        `${name}.responseModalities`,
        `${name}.response_modalities`,
      ]),
    },
    answersObject: true,
    answersTokens: 'only',
    // Its upstreams accept both spellings.
    answerLimits: ['generationConfig', 'generation_config'].flatMap(name => [
      `${name}.maxOutputTokens`,
      `${name}.max_output_tokens`,
    ]),
  },
}
