import { type FilePart, isKnown, sniff } from '../../src/plugin-api/index.ts'

const unsafe = /[^0-9A-Za-z_-]+/g

/**
 * The file in its sent form: under a field name, with a file name and a content type of the gateway (`image-0.png`,
 * `image/png` by its first bytes). If the bytes do not show the type, only the client's claim is known, and upstreams
 * use the name (`docs/rules.md#image-edits`).
 * @param base the beginning of the file name; `index` counts the files with that base from 0
 */
export function nameFile<File extends FilePart>(file: File, field: string, base: string, index: number): File {
  const { claimed } = file
  if (claimed?.fileName && !isKnown(file.head))
    return { ...file, name: field, fileName: claimed.fileName, contentType: claimed.contentType }
  const { type, extension } = sniff(file.head)
  const stem = base.replaceAll(unsafe, '').slice(0, 64) || 'file'
  return { ...file, name: field, fileName: `${stem}-${index}.${extension}`, contentType: type }
}
