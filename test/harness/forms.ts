/** A form of text fields and files, encoded by hand so that the test can choose its boundary. */
export function form(
  fields: { readonly [name: string]: unknown },
  boundary = 'tollgate-test-boundary',
): { readonly body: Buffer; readonly contentType: string } {
  const pieces: Buffer[] = []
  for (const [name, value] of Object.entries(fields)) {
    const file = Buffer.isBuffer(value) ? '; filename="picture.png"\r\nContent-Type: image/png' : ''
    pieces.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`))
    pieces.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)), Buffer.from('\r\n'))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  return { body: Buffer.concat(pieces), contentType: `multipart/form-data; boundary=${boundary}` }
}
