import type { OperationsByName } from '../domain/index.ts'
import { audioSpeech } from './audio-speech.ts'
import { audioTranscribe } from './audio-transcribe.ts'
import { audioTranslate } from './audio-translate.ts'
import { chargesGet } from './charges-get.ts'
import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { embed } from './embed.ts'
import { embeddings } from './embeddings.ts'
import { generateCount } from './generate-count.ts'
import { generateEmbed } from './generate-embed.ts'
import { generateLive } from './generate-live.ts'
import { generate } from './generate.ts'
import { imageEdit } from './image-edit.ts'
import { imageGenerate } from './image-generate.ts'
import { jobsGet } from './jobs-get.ts'
import { messagesCount } from './messages-count.ts'
import { messages } from './messages.ts'
import { moderations } from './moderations.ts'
import { modelsGet } from './models-get.ts'
import { modelsList } from './models-list.ts'
import { batchesOperations } from './batches.ts'
import { cachesOperations } from './caches.ts'
import { conversationsOperations } from './conversations.ts'
import { filesOperations } from './files.ts'
import { generateFilesOperations } from './generate-files.ts'
import { messagesBatchesOperations } from './messages-batches.ts'
import { messagesFilesOperations } from './messages-files.ts'
import type { Operation } from './operation.ts'
import { realtimeSecrets } from './realtime-secrets.ts'
import { realtimeTranscribe } from './realtime-transcribe.ts'
import { realtime } from './realtime.ts'
import { rerank } from './rerank.ts'
import { responsesGet } from './responses-get.ts'
import { responsesItems } from './responses-items.ts'
import { responsesDelete } from './responses-delete.ts'
import { responsesCancel } from './responses-cancel.ts'
import { responsesTokens } from './responses-tokens.ts'
import { responsesCompact } from './responses-compact.ts'
import { speechToText } from './speech-to-text.ts'
import { textToSpeech } from './text-to-speech.ts'
import { responses } from './responses.ts'

export type * from './operation.ts'

/**
 * Every operation with a description. A route may use others: they are forwarded in the same way, but the reference
 * says less about them.
 */
export const operations: readonly Operation[] = [
  imageGenerate,
  imageEdit,
  chat,
  messages,
  messagesCount,
  responses,
  generate,
  generateCount,
  generateEmbed,
  generateLive,
  embeddings,
  rerank,
  audioSpeech,
  audioTranscribe,
  textToSpeech,
  speechToText,
  moderations,
  realtime,
  realtimeTranscribe,
  realtimeSecrets,
  modelsList,
  modelsGet,
  chargesGet,
  jobsGet,
  responsesGet,
  responsesItems,
  responsesDelete,
  responsesCancel,
  responsesTokens,
  ...conversationsOperations,
  ...filesOperations,
  ...messagesFilesOperations,
  ...generateFilesOperations,
  ...cachesOperations,
  ...batchesOperations,
  ...messagesBatchesOperations,
  responsesCompact,
  completions,
  audioTranslate,
  embed,
]

const byName: ReadonlyMap<string, Operation> = new Map(operations.map(operation => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}

/** Traits of operations, for plans and plugins. */
export const operationTraits: OperationsByName = new Map(operations.map(({ name, traits }) => [name, traits]))
