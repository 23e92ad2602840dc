import { LRUCache } from 'lru-cache'
import type { Awaitable, SharedTexts } from '../../src/plugin-api/index.ts'
import { entryBytes, type CachedAnswer, readCached, writeCached } from './cached-answer.ts'

/** A store of answers. If it is unavailable, it returns none. */
export type AnswerStore = {
  get(key: string): Awaitable<CachedAnswer | undefined>
  put(key: string, answer: CachedAnswer, forMs: number): Awaitable<void>
}

/** Answers in the memory of this process, bounded by their bytes: the least recently used ones are dropped. */
export class MemoryAnswers implements AnswerStore {
  readonly #answers: LRUCache<string, CachedAnswer>

  constructor(bytesMax: number) {
    this.#answers = new LRUCache({ maxSize: bytesMax, sizeCalculation: ({ body }) => body.length + entryBytes })
  }

  get(key: string): CachedAnswer | undefined {
    return this.#answers.get(key)
  }

  put(key: string, answer: CachedAnswer): void {
    this.#answers.set(key, answer)
  }
}

/** Answers that all processes share. */
export class SharedAnswers implements AnswerStore {
  readonly #texts: SharedTexts

  constructor(texts: SharedTexts) {
    this.#texts = texts
  }

  async get(key: string): Promise<CachedAnswer | undefined> {
    const text = await this.#texts.get(key)
    return text === undefined ? undefined : readCached(text)
  }

  put(key: string, answer: CachedAnswer, forMs: number): Promise<void> {
    return this.#texts.put(key, writeCached(answer), forMs)
  }
}
