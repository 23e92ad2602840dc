/** The tables as Kysely's query builder sees them: those that are read by filters. */
export type Tables = {
  key: {
    id: string
    name: string
    user_name: string
    group_name: string | null
    kind: string
    hash: string
    old_hash: string | null
    old_until: number | null
    hint: string
    status: string
    expires_at: number | null
    models: string | null
    ips: string | null
    limits: string
    budget: number | null
    budget_period: string
    day_start: number
    day_spent: number
    month_start: number
    month_spent: number
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
  charge: {
    id: string
    key_id: string
    user_name: string
    model: string
    currency: string
    size: string | null
    state: string
    amount: number
    created_at: number
  }
  line: {
    charge_id: string
    idx: number
    tier: string
    source: string
    width: number | null
    height: number | null
    quantity: number | null
  }
  trail: {
    id: string
    at: number
    actor: string
    action: string
    subject: string
    was: string | null
    became: string | null
    reason: string | null
  }
}
