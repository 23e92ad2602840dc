import type { AdminRequest } from '../api.ts'

/** Counts a refused sign-in for the audit log. Sign-ins work even if the storage does not answer. */
export async function noteRefused({ parts, remote, id }: AdminRequest, name: string, way: string): Promise<void> {
  try {
    await parts.storage.watch.refused({ name, remote: parts.networkOf(remote), way })
  } catch (error) {
    parts.log.warn({ request: id, err: error }, 'a refused sign-in could not be counted')
  }
}
