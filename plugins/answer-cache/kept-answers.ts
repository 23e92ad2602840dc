import { LRUCache } from 'lru-cache'
import { entryBytes, type KeptAnswer } from './kept-answer.ts'

/** Answers in the memory of this process, bounded by their bytes: the least recently used ones are dropped. */
export class KeptAnswers {
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
