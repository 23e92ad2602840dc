import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'

const server = fileURLToPath(new URL('../../node_modules/yaml-language-server/out/src/server.js', import.meta.url))

type Message = {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** Lines and characters count from 0, as in the protocol. */
export type Position = { readonly line: number; readonly character: number }
export type Diagnostic = { readonly message: string; readonly range: { readonly start: Position } }

/** The actions of an editor on a file. */
export type Editor = {
  /** Opens the file, or replaces its text; resolves with what the editor would underline. */
  show(file: string, text: string): Promise<readonly Diagnostic[]>
  /** The completions at a position. */
  complete(file: string, position: Position): Promise<readonly string[]>
  /** The text that a hover shows. */
  hover(file: string, position: Position): Promise<string>
}

const settings: { readonly [section: string]: unknown } = {
  yaml: { validate: true, hover: true, completion: true, schemaStore: { enable: false } },
}

/** Starts yaml-language-server, which editors use for YAML, and connects to it by LSP. */
export async function startEditor(t: Test, folder: string): Promise<Editor> {
  const env = { ...process.env, NODE_OPTIONS: '', YAML_LANGUAGE_SERVER_VERSION: 'test' }
  const child = spawn(process.execPath, [server, '--stdio'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(async () => {
    child.kill()
    await once(child, 'close')
  })
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  const shown = new Map<string, PromiseWithResolvers<readonly Diagnostic[]>>()
  const versions = new Map<string, number>()
  let last = 0

  const write = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }
  const ask = (method: string, params: object): Promise<unknown> => {
    const id = ++last
    const answer = Promise.withResolvers<unknown>()
    pending.set(id, answer)
    write({ id, method, params })
    return answer.promise
  }

  function hear({ id, method, params, result, error }: Message): void {
    if (method === undefined) {
      if (error) pending.get(id ?? 0)?.reject(new Error(error.message))
      else pending.get(id ?? 0)?.resolve(result)
    } else if (method === 'textDocument/publishDiagnostics') {
      const { uri, version, diagnostics } = params as { uri: string; version?: number; diagnostics: Diagnostic[] }
      if (version === undefined || version === versions.get(uri)) shown.get(uri)?.resolve(diagnostics)
    } else if (method === 'workspace/configuration') {
      const { items } = params as { items: readonly { section: string }[] }
      write({ id, result: items.map(({ section }) => settings[section] ?? null) })
    } else if (id !== undefined) write({ id, result: null })
  }

  let kept = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk])
    for (;;) {
      const head = kept.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/i.exec(kept.subarray(0, head).toString())?.[1])
      if (head < 0 || kept.length < head + 4 + length) return
      hear(JSON.parse(kept.subarray(head + 4, head + 4 + length).toString()) as Message)
      kept = kept.subarray(head + 4 + length)
    }
  })

  const rootUri = pathToFileURL(folder).href
  await ask('initialize', {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: 'test' }],
    capabilities: {
      workspace: { configuration: true },
      textDocument: { publishDiagnostics: { versionSupport: true }, hover: { contentFormat: ['markdown'] } },
    },
  })
  write({ method: 'initialized', params: {} })
  const at = (file: string, position: Position) => ({ textDocument: { uri: pathToFileURL(file).href }, position })
  return {
    show(file, text) {
      const uri = pathToFileURL(file).href
      const version = (versions.get(uri) ?? 0) + 1
      const seen = Promise.withResolvers<readonly Diagnostic[]>()
      versions.set(uri, version)
      shown.set(uri, seen)
      if (version === 1)
        write({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version, text } } })
      else
        write({
          method: 'textDocument/didChange',
          params: { textDocument: { uri, version }, contentChanges: [{ text }] },
        })
      return seen.promise
    },
    async complete(file, position) {
      const { items } = (await ask('textDocument/completion', at(file, position))) as { items: { label: string }[] }
      return items.map(({ label }) => label)
    },
    async hover(file, position) {
      const found = (await ask('textDocument/hover', at(file, position))) as { contents: { value: string } } | null
      return found?.contents.value ?? ''
    },
  }
}
