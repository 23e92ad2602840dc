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
import { conversationsCreate } from './conversations-create.ts'
import { conversationsGet } from './conversations-get.ts'
import { conversationsUpdate } from './conversations-update.ts'
import { conversationsDelete } from './conversations-delete.ts'
import { conversationsItems } from './conversations-items.ts'
import { conversationsItemsGet } from './conversations-items-get.ts'
import { conversationsItemsDelete } from './conversations-items-delete.ts'
import { conversationsAdd } from './conversations-add.ts'
import { filesCreate } from './files-create.ts'
import { filesList } from './files-list.ts'
import { filesGet } from './files-get.ts'
import { filesContent } from './files-content.ts'
import { filesDelete } from './files-delete.ts'
import { messagesFilesCreate } from './messages-files-create.ts'
import { messagesFilesList } from './messages-files-list.ts'
import { messagesFilesGet } from './messages-files-get.ts'
import { messagesFilesContent } from './messages-files-content.ts'
import { messagesFilesDelete } from './messages-files-delete.ts'
import { generateFilesCreate } from './generate-files-create.ts'
import { generateFilesList } from './generate-files-list.ts'
import { generateFilesGet } from './generate-files-get.ts'
import { generateFilesDelete } from './generate-files-delete.ts'
import { cachesCreate } from './caches-create.ts'
import { cachesList } from './caches-list.ts'
import { cachesGet } from './caches-get.ts'
import { cachesUpdate } from './caches-update.ts'
import { cachesDelete } from './caches-delete.ts'
import { batchesCreate } from './batches-create.ts'
import { batchesList } from './batches-list.ts'
import { batchesGet } from './batches-get.ts'
import { batchesCancel } from './batches-cancel.ts'
import { messagesBatchesCreate } from './messages-batches-create.ts'
import { messagesBatchesList } from './messages-batches-list.ts'
import { messagesBatchesGet } from './messages-batches-get.ts'
import { messagesBatchesCancel } from './messages-batches-cancel.ts'
import { messagesBatchesDelete } from './messages-batches-delete.ts'
import { messagesBatchesResults } from './messages-batches-results.ts'
import { responses } from './responses.ts'

export type * from './operation.ts'

/** Every operation that something is known of. A route may name others: what passes is the same, and less is said of it. */
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
  conversationsCreate,
  conversationsGet,
  conversationsUpdate,
  conversationsDelete,
  conversationsItems,
  conversationsItemsGet,
  conversationsItemsDelete,
  conversationsAdd,
  filesCreate,
  filesList,
  filesGet,
  filesContent,
  filesDelete,
  messagesFilesCreate,
  messagesFilesList,
  messagesFilesGet,
  messagesFilesContent,
  messagesFilesDelete,
  generateFilesCreate,
  generateFilesList,
  generateFilesGet,
  generateFilesDelete,
  cachesCreate,
  cachesList,
  cachesGet,
  cachesUpdate,
  cachesDelete,
  batchesCreate,
  batchesList,
  batchesGet,
  batchesCancel,
  messagesBatchesCreate,
  messagesBatchesList,
  messagesBatchesGet,
  messagesBatchesCancel,
  messagesBatchesDelete,
  messagesBatchesResults,
  responsesCompact,
  completions,
  audioTranslate,
  embed,
]

const byName: ReadonlyMap<string, Operation> = new Map(operations.map(operation => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}

/** What plans and plugins know of operations. */
export const operationTraits: OperationsByName = new Map(operations.map(({ name, traits }) => [name, traits]))
