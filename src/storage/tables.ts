/** The tables as Kysely's query builder sees them: those that are read by filters. */
export type Tables = {
  key: {
    id: string
    name: string
    user_name: string
    group_name: string | null
    hash: string
    hint: string
    status: string
    expires_at: number | null
    models: string | null
    ips: string | null
    limits: string
    budget: number | null
    spent: number
    held: number
    created_at: number
    last_used_at: number | null
  }
  user: {
    name: string
    group_name: string
    role: string
    status: string
    password_hash: string | null
    created_at: number
  }
  log: {
    id: string
    time: number
    key_id: string | null
    user_name: string | null
    group_name: string | null
    model: string | null
    operation: string
    status: number | null
    outcome: string
    error_code: string | null
    duration_ms: number
    upstream: string | null
    config_revision: string
    forwarded: string
    dropped: string
    client_request_id: string | null
    input_tokens: number | null
    output_tokens: number | null
  }
}
