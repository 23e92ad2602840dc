/** What those who handle a request need to know of its operation, as `src/operations` says it; what is absent is not so. */
export type OperationTraits = {
  /** Its answers are images: new ones, or others edited. */
  readonly images?: 'new' | 'edited'
  /** Tools of its requests may make images. */
  readonly imageTools?: true
  /** Its streams tell what they have used only where the request asks for it, in `stream_options`. */
  readonly usageOnDemand?: true
  /** The member whose value says that an answer is over, in streams that tell their use in an event of its own after that. */
  readonly usageBehind?: string
  /** The fields by which its requests say how long an answer may be, in tokens: paths with dots. Where it is absent, nobody knows. */
  readonly answerLimits?: readonly string[]
  /** The last event of its streams says again what was asked and answered, however long that is. */
  readonly longLastEvent?: true
  /** Its answers are counted in tokens, which have to have a price: in nothing else, or in seconds as well. */
  readonly answersTokens?: 'only' | 'also'
  /** Its answers are one JSON object where no stream was asked for: nothing else is an answer. */
  readonly answersObject?: true
  /** The field whose value asks for a stream of events, where that is not `stream`. */
  readonly streamsWhen?: { readonly field: string; readonly is: string }
  /** It costs nothing: its models need no price, and no tokens are counted. */
  readonly free?: true
}

/** By the operations' names. */
export type OperationsByName = ReadonlyMap<string, OperationTraits>
