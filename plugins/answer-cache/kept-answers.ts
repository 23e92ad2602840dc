import { LRUCache } from 'lru-cache'
import type { Awaitable, SharedTexts } from '../../src/plugin-api/index.ts'
import { entryBytes, type KeptAnswer, readKept, writeKept } from './kept-answer.ts'

/** A store of answers. If it is unavailable, it returns none. */
export type AnswerStore = {
  get(key: string): Awaitable<KeptAnswer | undefined>
  put(key: string, answer: KeptAnswer, forMs: number): Awaitable<void>
}

/** Answers in the memory of this process, bounded by their bytes: the least recently used ones are dropped. */
export class KeptAnswers implements AnswerStore {
  readonly #answers: LRUCache<string, KeptAnswer>

  constructor(bytesMax: number) {
    this.#answers = new LRUCache({ maxSize: bytesMax, sizeCalculation: ({ body }) => body.length + entryBytes })
  }

  get(key: string): KeptAnswer | undefined {
    return this.#answers.get(key)
  }

  put(key: string, answer: KeptAnswer): void {
    this.#answers.set(key, answer)
  }
}

/** Answers that all processes share. */
export class SharedAnswers implements AnswerStore {
  readonly #texts: SharedTexts

  constructor(texts: SharedTexts) {
    this.#texts = texts
  }

  async get(key: string): Promise<KeptAnswer | undefined> {
    const text = await this.#texts.get(key)
    return text === undefined ? undefined : readKept(text)
  }

  put(key: string, answer: KeptAnswer, forMs: number): Promise<void> {
    return this.#texts.put(key, writeKept(answer), forMs)
  }
}
