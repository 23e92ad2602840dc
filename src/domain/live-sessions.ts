/** A WebSocket session that is open in this gateway. */
export type OpenSession = {
  /** Id of the handshake's request; turns refer to it as their client id. */
  readonly id: string
  readonly keyId: string
  readonly operation: string
  /** Null if each message of the session names its own model. */
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
  /** The time when a person ended it, if its gateway has not closed it yet; else null. */
  readonly endedAt: number | null
}

export type SessionFilter = { readonly keyId?: string; readonly limit: number }

/** Open sessions of all gateways on the storage, without those of dead processes. */
export type LiveSessionStore = {
  opened(session: OpenSession): Promise<void>
  closed(id: string): Promise<void>
  /** Newest first. */
  list(filter: SessionFilter): Promise<readonly SeenSession[]>
  /**
   * Requests the session's end from its gateway, and writes to the audit log. False if no session with this id is
   * open.
   */
  end(id: string, by: string, reason: string | null): Promise<boolean>
  /** Ids of this gateway's sessions whose end people have requested. */
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
