/** A WebSocket session that is open in this gateway. */
export type OpenSession = {
  /** Id of the handshake's request: turns have it as the id of their client. */
  readonly id: string
  readonly keyId: string
  readonly operation: string
  /** Null if each message of the session names its own. */
  readonly model: string | null
  readonly upstream: string | null
  readonly openedAt: number
}

/** An open session of any gateway on the storage. */
export type SeenSession = OpenSession & {
  readonly keyName: string
  readonly user: string
  /** Host of the gateway, and the name of its process. */
  readonly host: string
  readonly process: string
  /** When a person ended it. Its gateway has not closed it yet. */
  readonly endedAt: number | null
}

export type SessionFilter = { readonly keyId?: string; readonly limit: number }

/** Open sessions of all gateways on the storage. Those of processes that are gone are not among them. */
export type LiveSessionStore = {
  opened(session: OpenSession): Promise<void>
  closed(id: string): Promise<void>
  /** Newest first. */
  list(filter: SessionFilter): Promise<readonly SeenSession[]>
  /** Requests the end of a session from its gateway, and writes it to the audit trail. False if none is open with this id. */
  end(id: string, by: string, reason: string | null): Promise<boolean>
  /** Ids of this gateway's sessions that people have ended. */
  ended(): Promise<readonly string[]>
}

export function showSession(session: SeenSession) {
  const { id, keyId, keyName, user, operation, model, upstream, host, process, openedAt, endedAt } = session
  return {
    id,
    key_id: keyId,
    key_name: keyName,
    user,
    operation,
    model,
    upstream,
    gateway: host,
    process,
    opened: new Date(openedAt).toISOString(),
    ending: endedAt !== null,
  }
}
