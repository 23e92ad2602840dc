import { type Host, type Json, keptHere, type StoredObject } from '../../../src/plugin-api/index.ts'
import { type ByteBudget, ByteClaim } from '../../../src/wire/index.ts'
import { fail } from '../errors.ts'
import { asList, asObject, type JsonObject, parseJson } from '../neutral/index.ts'
import type { TextCipher } from './cipher.ts'

/**
 * The maximum number of responses in one conversation, each of which is a read of the storage; and of their bytes as
 * JSON.
 */
const responsesMax = 500
const bytesMax = 16 * 1024 * 1024
const retryMs = 1_000
const roomMs = 2_000

/** A stored response with only its own input, and the id of the previous response. */
export type StoredResponse = {
  readonly before: string | null
  readonly input: readonly Json[]
  readonly response: JsonObject
}

/** The owner of a response, its request and its model. */
export type ResponseOwner = { readonly payer: string; readonly requestId: string; readonly model: string }

/**
 * Stores responses for models whose upstreams store none, among the stored objects. Their content is encrypted, and
 * bound to a key and an id.
 */
export class ResponseStore {
  readonly #cipher: TextCipher
  readonly #keepMs: number
  readonly #host: Pick<Host, 'clock' | 'stores'>
  readonly #budget: ByteBudget

  /** @param budget the memory of all conversations of running requests */
  constructor(host: Pick<Host, 'clock' | 'stores'>, cipher: TextCipher, keepMs: number, budget: ByteBudget) {
    this.#host = host
    this.#cipher = cipher
    this.#keepMs = keepMs
    this.#budget = budget
  }

  /** For the conversation of a request, which frees it. */
  claim(payer: string, bytesMax: number): ByteClaim {
    return new ByteClaim(this.#budget, bytesMax, payer)
  }

  /**
   * A response of the key; undefined if the gateway stores none with this id for it.
   * @throws Failure kept_response_unreadable, kept_responses_unavailable
   */
  async find(payer: string, id: string): Promise<StoredResponse | undefined> {
    const [found] = await this.#read(payer, id)
    if (!found || found.upstream !== keptHere || found.shown === null) return undefined
    const text = this.#cipher.decrypt(found.shown, placeOf(payer, id))
    const kept = text === undefined ? undefined : asObject(parseJson(text))
    if (!kept) throw fail('kept_response_unreadable', { id: shortly(id) }, { param: 'previous_response_id' })
    return kept as StoredResponse
  }

  async #read(payer: string, id: string): Promise<readonly StoredObject[]> {
    try {
      return await this.#host.stores.objects.find(payer, [{ kind: 'response', id }])
    } catch (cause) {
      throw fail('kept_responses_unavailable', {}, { cause, retryAfterMs: retryMs })
    }
  }

  /**
   * The items of a conversation up to and including a response, in order.
   * @param memory holds their bytes afterwards
   * @throws Failure kept_response_unknown, kept_conversation_too_long, kept_conversations_full, and those of `find`
   */
  async conversation(payer: string, last: string, memory: ByteClaim): Promise<readonly Json[]> {
    const steps: (readonly Json[])[] = []
    let bytes = 0
    for (let id: string | null = last; id !== null; ) {
      const kept: StoredResponse | undefined = await this.find(payer, id)
      if (!kept) throw fail('kept_response_unknown', { id: shortly(id) }, { param: 'previous_response_id' })
      const items = [...kept.input, ...asList(kept.response['output'])]
      bytes += JSON.stringify(items).length
      steps.push(items)
      if (steps.length > responsesMax || bytes > bytesMax)
        throw fail('kept_conversation_too_long', { responses: responsesMax, bytes: bytesMax })
      if (!memory.hold(bytes)) throw fail('kept_conversations_full', {}, { retryAfterMs: roomMs })
      id = kept.before
    }
    return steps.toReversed().flat()
  }

  /** Resolves once it is durable. @throws Failure kept_response_lost */
  async keep({ payer, requestId, model }: ResponseOwner, id: string, kept: StoredResponse): Promise<void> {
    const now = this.#host.clock.now()
    const text = JSON.stringify(kept)
    const record: StoredObject = {
      id,
      kind: 'response',
      keyId: payer,
      upstream: keptHere,
      vendorKey: null,
      model,
      // Without a parent: a parent expires together with its parts, but a conversation may outlive its responses.
      parent: null,
      requestId,
      bytes: Buffer.byteLength(text),
      shown: this.#cipher.encrypt(text, placeOf(payer, id)),
      createdAt: now,
      expiresAt: now + this.#keepMs,
      deletedAt: null,
    }
    await this.#host.stores.objects.put([record]).catch((cause: unknown) => {
      throw fail('kept_response_lost', {}, { cause })
    })
  }

  /** Deletes its content at once. @throws Failure kept_responses_unavailable */
  async end(payer: string, id: string): Promise<void> {
    await this.#host.stores.objects.end(payer, 'response', id).catch((cause: unknown) => {
      throw fail('kept_responses_unavailable', {}, { cause, retryAfterMs: retryMs })
    })
  }
}

function placeOf(payer: string, id: string): string {
  return `${payer} ${id}`
}

function shortly(id: string): string {
  return id.slice(0, 120)
}
