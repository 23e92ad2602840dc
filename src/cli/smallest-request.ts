/** The body of a request, and whether it is a form. */
export type SmallRequest = { readonly json: object } | { readonly form: FormData }

/** A sixteenth of a second of silence: 8,000 samples a second of 8 bits. */
const silence = { samples: 500, rate: 8_000, middle: 0x80 }

/** The least that each operation can be asked for, by its name: what a test of a model costs next to nothing with. */
const requests: { readonly [operation: string]: (model: string) => SmallRequest } = {
  chat: model => ({ json: { model, max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] } }),
  messages: model => ({ json: { model, max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] } }),
  responses: model => ({ json: { model, max_output_tokens: 16, input: 'Say yes.' } }),
  generate: () => ({
    json: { contents: [{ role: 'user', parts: [{ text: 'Say yes.' }] }], generationConfig: { maxOutputTokens: 16 } },
  }),
  'generate.embed': () => ({ json: { content: { parts: [{ text: 'yes' }] } } }),
  embeddings: model => ({ json: { model, input: 'yes' } }),
  rerank: model => ({ json: { model, query: 'yes', documents: ['yes', 'no'] } }),
  'audio.speech': model => ({ json: { model, input: 'yes', voice: 'alloy' } }),
  'audio.transcribe'(model) {
    const form = new FormData()
    form.append('model', model)
    form.append('file', new Blob([wave()], { type: 'audio/wav' }), 'silence.wav')
    return { form }
  },
  'image.generate': model => ({ json: { model, prompt: 'a red square', n: 1 } }),
}

/** The first of a model's operations that a small request is known for, in the order of what it costs; undefined for none. */
export function smallestRequest(
  model: string,
  operations: readonly string[],
): { readonly operation: string; readonly request: SmallRequest } | undefined {
  const operation = Object.keys(requests).find(name => operations.includes(name))
  const make = operation === undefined ? undefined : requests[operation]
  return operation === undefined || !make ? undefined : { operation, request: make(model) }
}

function wave(): Uint8Array<ArrayBuffer> {
  const { samples, rate, middle } = silence
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples, 40)
  return Uint8Array.from([...head, ...Buffer.alloc(samples, middle)])
}
