import { isObject, type DeferredTraits, type Passed, type Stage } from '../../../src/plugin-api/index.ts'
import { parseJsonIfValid } from '../../../src/wire/index.ts'
import { EventReader } from '../read-events.ts'
import { MemberReader } from '../read-members.ts'

/**
 * Reads the id and the state of deferred work from the response to its request. Before the client gets the id, `open`
 * stores the job that will charge the work. A response that has already ended reports its usage itself and needs no job;
 * a batch reports none, whatever its state.
 */
export class TakenStage implements Stage {
  readonly letsGo = true
  readonly #traits: Pick<DeferredTraits, 'batch' | 'ended' | 'inside' | 'state'>
  readonly #open: (id: string) => Promise<void>
  readonly #read: (chunk: Buffer) => void
  #id: string | undefined
  #state: string | undefined
  #isDone = false

  constructor(traits: DeferredTraits, inEvents: boolean, open: (id: string) => Promise<void>) {
    this.#traits = traits
    this.#open = open
    const members = new Set(['id', traits.state])
    const reader = inEvents
      ? new EventReader(data => this.#event(data), { removes: false })
      : new MemberReader({ members }, (name, value) => this.#member(name, value))
    this.#read = chunk => void reader.write(chunk)
  }

  write(chunk: Buffer): Passed | Promise<Passed> {
    if (!this.#isDone) this.#read(chunk)
    const id = this.#id
    if (this.#isDone || id === undefined || this.#state === undefined) return chunk
    this.#isDone = true
    const { batch, ended } = this.#traits
    return !batch && ended.includes(this.#state) ? chunk : this.#open(id).then(() => chunk)
  }

  end(): Passed {
    return []
  }

  #member(name: string, value: unknown): void {
    if (typeof value !== 'string' || value === '') return
    if (name === 'id') this.#id ??= value
    else this.#state ??= value
  }

  #event(data: Buffer): boolean {
    const { inside = '', state } = this.#traits
    if (this.#isDone || !data.includes(inside)) return false
    const event = parseJsonIfValid(data.toString())
    const object = isObject(event) ? event[inside] : undefined
    if (isObject(object)) for (const name of ['id', state]) this.#member(name, object[name])
    return false
  }
}
