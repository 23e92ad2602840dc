import type { Json } from '../domain/index.ts'
import type { SessionFormat, SessionReader, SessionSign, SessionUsage, SetupFormat } from '../plugin-api/index.ts'
import { errorObject } from './google-error.ts'
import { readMember } from './read-members.ts'

type JsonObject = { readonly [name: string]: Json }

const idCharsMax = 512
const modelPrefix = 'models/'

/**
 * JSON escapes of letters that occur in the names of members with file references. No encoder escapes ASCII letters, so
 * a client that does so wants to hide a name.
 */
const escapedLetters = ['\\u004', '\\u005', '\\u006', '\\u007']

const setup: SetupFormat = {
  read(message) {
    const request = readMember(message, 'setup')
    return isObject(request) ? request : undefined
  },
  write: request => `{"setup":${request}}`,
  modelOf({ model }) {
    if (typeof model !== 'string') return undefined
    return model.startsWith(modelPrefix) ? model.slice(modelPrefix.length) : model
  },
  outputMaxOf(request) {
    const config = either(request, 'generationConfig', 'generation_config')
    const longest = either(config, 'maxOutputTokens', 'max_output_tokens')
    return typeof longest === 'number' ? longest : undefined
  },
  handleOf(request) {
    const handle = readMember(either(request, 'sessionResumption', 'session_resumption'), 'handle')
    return typeof handle === 'string' && handle !== '' ? handle : undefined
  },
}

/** Live sessions (`BidiGenerateContent`). The first message, `setup`, names the model. Messages may be binary JSON. */
export const googleSession: SessionFormat = {
  upstreamWords: [
    'erverContent"',
    'erver_content"',
    'oolCall"',
    'ool_call"',
    'sageMetadata"',
    'sage_metadata"',
    'etupComplete"',
    'etup_complete"',
    'ewHandle"',
    'ew_handle"',
  ],
  callerWords: ['"clientContent"', '"client_content"', '"toolResponse"', '"tool_response"'],
  barredWords: ['"fileData"', '"file_data"', '"fileUri"', '"file_uri"', ...escapedLetters],
  isSerial: true,
  setup,
  createReader: usage => new LiveReader(usage),
  error: failure => JSON.stringify({ error: errorObject(failure) }),
  goAway: leftMs => JSON.stringify({ goAway: { timeLeft: `${Math.floor(leftMs / 1_000)}s` } }),
}

/**
 * Finds the turns of a session. A turn begins with its first content. It ends when it is complete or calls tools, and
 * its usage is known; the usage may be in the same message, before it, or after it. A later report of a turn replaces
 * an earlier one.
 */
class LiveReader implements SessionReader {
  readonly #usage: SessionUsage
  #turns = 0
  #open: string | undefined
  /** The turn is complete and waits for its usage; `tools`: it may also continue. */
  #isOver: 'complete' | 'tools' | undefined
  #report: Json | undefined
  #grounding: Json[] = []
  /** Running totals at the end of the last turn. */
  #counted: Json | undefined
  #lastReport = ''

  constructor(usage: SessionUsage) {
    this.#usage = usage
  }

  read(message: Json): readonly SessionSign[] {
    const signs: SessionSign[] = []
    if (either(message, 'setupComplete', 'setup_complete') !== undefined) signs.push({ kind: 'ready' })
    const resumption = either(message, 'sessionResumptionUpdate', 'session_resumption_update')
    const handle = either(resumption, 'newHandle', 'new_handle')
    if (typeof handle === 'string' && handle !== '') signs.push({ kind: 'handle', id: handle.slice(0, idCharsMax) })
    this.#readTurn(message, signs)
    return signs
  }

  #readTurn(message: Json, signs: SessionSign[]): void {
    const content = either(message, 'serverContent', 'server_content')
    const usage = either(message, 'usageMetadata', 'usage_metadata')
    const isComplete = either(content, 'turnComplete', 'turn_complete') === true
    const callsTools = either(message, 'toolCall', 'tool_call') !== undefined
    const hasContent = callsTools || hasOutput(content)
    if (hasContent && this.#isOver) this.#goOn(signs)
    // A repeated report belongs to the previous turn.
    const isNew = usage !== undefined && JSON.stringify(usage) !== this.#lastReport
    if (this.#open === undefined && (hasContent || isNew)) {
      this.#open = String(++this.#turns)
      signs.push({ kind: 'began', id: this.#open })
      if (!hasContent && !isComplete) this.#isOver = 'complete'
    }
    if (this.#open === undefined) return
    if (usage !== undefined) this.#report = usage
    const grounding = either(content, 'groundingMetadata', 'grounding_metadata')
    if (grounding !== undefined) this.#grounding.push({ groundingMetadata: grounding })
    if (isComplete) this.#isOver = 'complete'
    else if (callsTools) this.#isOver = 'tools'
    if (this.#isOver && this.#report !== undefined) this.#end(signs)
  }

  /**
   * Handles content after the end of a turn: a turn that called tools continues, another one has ended without a
   * report.
   */
  #goOn(signs: SessionSign[]): void {
    if (this.#isOver === 'complete') this.#end(signs)
    this.#isOver = undefined
  }

  #end(signs: SessionSign[]): void {
    const id = this.#open
    if (id === undefined) return
    signs.push({ kind: 'ended', id, failed: false, report: this.#takeReport() })
    this.#open = undefined
    this.#isOver = undefined
    this.#grounding = []
  }

  #takeReport(): Json | null {
    const usage = this.#report
    this.#report = undefined
    if (usage === undefined) return null
    this.#lastReport = JSON.stringify(usage)
    const own = this.#usage === 'running' ? without(usage, this.#counted) : usage
    this.#counted = usage
    return { usageMetadata: own, candidates: [...this.#grounding, { finishReason: 'STOP' }] }
  }
}

/**
 * Whether a message has output of the model. The transcription of the input arrives before the turn. An end alone is no
 * output: an upstream may repeat it.
 */
function hasOutput(content: Json | undefined): boolean {
  return (
    either(content, 'modelTurn', 'model_turn') !== undefined ||
    either(content, 'outputTranscription', 'output_transcription') !== undefined
  )
}

/** A running total minus an earlier one. Counts by modality are matched by their modality. */
function without(total: Json, before: Json | undefined): Json {
  if (typeof total === 'number') return typeof before === 'number' ? Math.max(0, total - before) : total
  if (Array.isArray(total)) {
    const list = Array.isArray(before) ? (before as readonly Json[]) : []
    return (total as readonly Json[]).map(one => {
      const modality = readMember(one, 'modality')
      return without(
        one,
        list.find(other => readMember(other, 'modality') === modality),
      )
    })
  }
  if (!isObject(total)) return total
  return Object.fromEntries(
    Object.entries(total).map(([name, value]) => [name, without(value, readMember(before, name))]),
  )
}

function either(value: Json | undefined, name: string, other: string): Json | undefined {
  return readMember(value, name) ?? readMember(value, other)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
