import type { BillingRecord } from '../../kit/billing-record.ts'
import type { RequestExplanation } from '../../kit/explanation.ts'
import type { LogRecord as LogLine } from '../../kit/log-record.ts'

export type { BillingRecord, RequestExplanation }

export type User = {
  readonly name: string
  readonly role: 'user' | 'admin'
  readonly group: string
  readonly status: 'active' | 'disabled'
  readonly has_password: boolean
  readonly created: string
}

export type Session = {
  readonly user: User
  readonly gateway: {
    readonly base_url: string
    readonly currency: string
    readonly version: string
    readonly revision: string
    /** Upstreams that are simulated. */
    readonly simulated: readonly string[]
  }
}

export type Limits = {
  readonly rpm?: number | null
  readonly tpm?: number | null
  readonly concurrency?: number | null
}

export type Key = {
  readonly id: string
  readonly name: string
  readonly user: string
  readonly group: string
  readonly own_group: string | null
  readonly hint: string
  readonly status: string
  readonly expires: string | null
  readonly old_secret_until: string | null
  readonly models: readonly string[] | null
  readonly ips: readonly string[] | null
  readonly limits: Limits | null
  readonly group_limits: Limits | null
  readonly budget: string | null
  readonly budget_period: string | null
  readonly budget_used: string | null
  readonly spent: string
  readonly held: string
  readonly currency: string
  readonly created: string
  readonly last_used: string | null
}

export type KeyWithSecret = { readonly key: Key; readonly secret: string }

export type Step = { readonly from: string; readonly requests: number; readonly errors: number }

export type Overview = {
  readonly range: 'today' | '7d' | '30d'
  readonly since: string
  readonly until: string
  readonly requests: number
  readonly errors: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly spent: readonly { readonly currency: string; readonly amount: string }[]
  readonly images: readonly { readonly tier: string; readonly count: number }[]
  readonly steps: readonly Step[]
  /** Whether there has ever been a request. */
  readonly ever: boolean
}

export type LogRecord = LogLine & {
  readonly user_agent?: string | null
  readonly explanation?: BillingRecord | null
  readonly timing?: { readonly began: string; readonly ended: string; readonly duration_ms: number } | null
}

export type Model = {
  readonly name: string
  readonly family: string
  readonly operations: readonly string[]
  readonly upstreams: readonly string[]
  readonly prices: readonly {
    readonly unit: string
    readonly price: string
    readonly currency: string
    readonly per: number
    readonly at: string
  }[]
  readonly free: boolean
  readonly limits: Limits | null
  readonly notes: { readonly [language in 'zh' | 'en']: readonly string[] }
  readonly streams: readonly string[]
  readonly enabled: boolean
}

/** `GET /api/pricing`, of which the playground takes the sizes. */
export type Pricing = {
  readonly models: readonly {
    readonly name: string
    readonly sizes?: readonly { readonly asked: string | null }[] | null
  }[]
}

export type Group = {
  readonly name: string
  readonly limits: Limits
  readonly multiplier: string | null
  readonly limit_scope: string | null
  readonly users: number
  readonly keys: number
}

export type Finding = {
  readonly severity: string
  readonly code: string
  readonly message: string
  readonly remedy: string | null
  readonly line: number | null
  readonly col: number | null
  readonly path: string | null
}

export type Configuration = {
  readonly file: string | null
  readonly revision: string
  readonly loaded_at: string
  readonly text: string
  readonly origins: readonly {
    readonly path: string
    readonly value: unknown
    readonly line: number | null
    readonly from: string
  }[]
  readonly last_reload: {
    readonly at: string
    readonly ok: boolean
    readonly changes?: readonly string[] | null
    readonly findings?: readonly Finding[] | null
  } | null
}

export type TrailRow = {
  readonly id: string
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly before: { readonly [field: string]: unknown } | null
  readonly after: { readonly [field: string]: unknown } | null
  readonly reason: string | null
}

export type SystemState = {
  readonly version: string
  readonly node: string
  readonly started: string
  readonly uptime_s: number
  readonly memory: number
  readonly event_loop_p99_ms: number | null
  readonly open_requests: number
  readonly storage: { readonly kind: string; readonly healthy: boolean }
  readonly counters: { readonly kind: string; readonly healthy: boolean }
  readonly upstreams: readonly { readonly name: string; readonly healthy: boolean; readonly simulated: boolean }[]
  readonly needs_review: number
  readonly review_held: readonly { readonly currency: string; readonly amount: string }[]
  readonly disk_free: number | null
}

export type OpenSession = {
  readonly id: string
  readonly created: string
  readonly seen: string
  readonly agent: string
  readonly remote: string
  readonly current: boolean
}
