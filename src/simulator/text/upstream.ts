import type { SimulatedUpstream } from '../upstream.ts'
import { caches } from './caches.ts'
import { batches } from './batches.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { conversations } from './conversations.ts'
import { embed } from './embed.ts'
import { embeddings } from './embeddings.ts'
import { files } from './files.ts'
import { generateFiles } from './generate-files.ts'
import { generateMethods } from './generate.ts'
import { countTokens, messages } from './messages.ts'
import { rerankV1, rerankV2 } from './rerank.ts'
import { moderations } from './moderations.ts'
import { responses } from './responses.ts'
import { speech } from './speech.ts'
import { storedResponses } from './stored-responses.ts'
import { transcribe } from './transcribe.ts'
import { hear, voice } from './voice.ts'

/** The paths of requests that a batch may contain. */
const inBatches = {
  '/v1/chat/completions': chat,
  '/v1/completions': completions,
  '/v1/responses': responses,
  '/v1/embeddings': embeddings,
  '/v1/moderations': moderations,
}

/**
 * Text, sound and ranks in every style. The same request always gets the same answer; tokens are words. A prompt may
 * demand faults (`marks.ts`). `docs/wire.md` defines the shapes.
 */
export const text: SimulatedUpstream = {
  'POST /v1/chat/completions': chat,
  'POST /v1/completions': completions,
  'POST /v1/responses': responses,
  ...storedResponses,
  ...conversations,
  ...files,
  ...generateFiles,
  ...caches,
  ...batches(inBatches, messages),
  'POST /v1/messages': messages,
  'POST /v1/messages/count_tokens': countTokens,
  'POST /v1/embeddings': embeddings,
  'POST /v1/moderations': moderations,
  'POST /v1/audio/speech': speech,
  'POST /v1/text-to-speech/{voice}/stream': voice,
  'POST /v1/text-to-speech/{voice}': voice,
  'POST /v1/speech-to-text': hear,
  'POST /v1/audio/transcriptions': transcribe,
  'POST /v1/audio/translations': transcribe,
  'POST /v2/embed': embed,
  'POST /v1/rerank': rerankV1,
  'POST /v2/rerank': rerankV2,
  ...Object.fromEntries(
    Object.entries(generateMethods).flatMap(([method, handler]) =>
      ['v1', 'v1beta'].map(version => [`POST /${version}/models/{model}:${method}`, handler]),
    ),
  ),
}
