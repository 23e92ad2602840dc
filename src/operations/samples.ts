import type { CodeSample, SampleCall } from './operation.ts'

/** The header with the key, if the style of the endpoint has no other. */
const bearer = 'Authorization: Bearer $API_KEY'

function shell({ baseUrl, path, model }: SampleCall, options: readonly string[]): CodeSample {
  const url = quote(`${baseUrl}${path.replace('{model}', () => encodeURIComponent(model))}`)
  return { lang: 'Shell', label: 'curl', source: [`curl ${url}`, ...options].join(' \\\n  ') }
}

/** `headers` contain the key, in the form of the endpoint's style; `ends`: how the answer is handled. */
export function curl(
  call: SampleCall,
  body: object,
  headers: readonly string[] = [bearer],
  ends: readonly string[] = [],
): CodeSample {
  const sent = [...headers, 'Content-Type: application/json'].map(header => `-H "${header}"`)
  return shell(call, [...sent, `-d ${quote(JSON.stringify(body, null, 2))}`, ...ends])
}

export function form(call: SampleCall, parts: readonly string[], ends: readonly string[] = []): CodeSample {
  return shell(call, [`-H "${bearer}"`, ...parts.map(part => `-F ${quote(part)}`), ...ends])
}

/** Saves a binary answer to a file; curl prints an error to the terminal and saves its body instead. */
export function keepAs(file: string): readonly string[] {
  return [`-sS --fail-with-body -o ${file}`]
}

/** Saves the first image of an answer that contains it as text, with standard Unix tools. */
export function keepPicture(name: string): readonly string[] {
  const picture = `grep -o '"b64_json": *"[^"]*' ${name}.json | head -n 1 | cut -d '"' -f 4 | base64 --decode > ${name}.png`
  return [...keepAs(`${name}.json`), `&& ${picture}`]
}

/** The end of a Python program with images in `answer`; it imports base64. */
export function pythonPicture(name: string): readonly string[] {
  return [`with open("${name}.png", "wb") as file:`, '    file.write(base64.b64decode(answer.data[0].b64_json))']
}

export function get(call: SampleCall): CodeSample {
  return shell(call, [`-H "${bearer}"`])
}

export function python(lines: readonly string[]): CodeSample {
  return { lang: 'Python', label: 'Python', source: lines.join('\n') }
}

export function node(lines: readonly string[]): CodeSample {
  return { lang: 'JavaScript', label: 'Node', source: lines.join('\n') }
}

/** With the SDK of the chat-completions style. */
export function pythonOpenai(
  { baseUrl }: SampleCall,
  lines: readonly string[],
  imports: readonly string[] = [],
): CodeSample {
  const client = `client = OpenAI(base_url=${write(`${baseUrl}/v1`)}, api_key=os.environ["API_KEY"])`
  return python([...imports, 'import os', 'from openai import OpenAI', '', client, ...lines])
}

export function nodeOpenai(
  { baseUrl }: SampleCall,
  lines: readonly string[],
  imports = "import OpenAI from 'openai'",
): CodeSample {
  const client = `const client = new OpenAI({ baseURL: ${write(`${baseUrl}/v1`)}, apiKey: process.env.API_KEY })`
  return node([imports, '', client, ...lines])
}

/** A value in a form that JSON, Python and JavaScript share, with spaces. */
export function write(value: unknown): string {
  return JSON.stringify(value).replaceAll('":"', '": "').replaceAll('","', '", "')
}

/**
 * Quotes a word for a shell. A word with a variable, such as `$REQUEST_ID`, is quoted so that the shell inserts the
 * value.
 */
function quote(word: string): string {
  if (/^[\w.:@/=[\]-]*\$[A-Z][\w.:@/=-]*$/.test(word)) return `"${word}"`
  return /^[\w.:@/=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** The prompt of samples. */
export const hello = [{ role: 'user', content: 'Hello' }]
export const helloContents = [{ parts: [{ text: 'Hello' }] }]
