// The one reader of answers to `fetch`: at most so many bytes of them. A webhook that answered with an error page without an end took 3.4 GB.
// The time limit is the signal of the request, which also ends its body.

export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'

  constructor(bytesMax: number) {
    super(`the answer has more than ${bytesMax} bytes`)
  }
}

type Body = Pick<Response, 'body'>

/** Throws AnswerTooLong, and what the connection throws. The rest is not read. */
export async function readWhole({ body }: Body, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  // Throwing ends the loop, which cancels the rest.
  for await (const part of body ?? []) {
    bytes += part.byteLength
    if (bytes > bytesMax) throw new AnswerTooLong(bytesMax)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const readText = async (answer: Body, bytesMax: number): Promise<string> =>
  (await readWhole(answer, bytesMax)).toString('utf8')

/** Throws a SyntaxError as well. */
export const readJson = async (answer: Body, bytesMax: number): Promise<unknown> =>
  JSON.parse(await readText(answer, bytesMax))

/** Its beginning, as far as it came; never throws. */
export async function readBeginning({ body }: Body, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of body ?? []) {
      parts.push(part.subarray(0, bytesMax - bytes))
      bytes += part.byteLength
      if (bytes >= bytesMax) break
    }
  } catch {
    // What came says enough.
  }
  return Buffer.concat(parts).toString('utf8')
}

/** For an answer whose status is enough. */
export const dropBody = async ({ body }: Body): Promise<void> => body?.cancel()

/** `fetch` for a library that reads answers itself. */
export const limitedFetch =
  (bytesMax: number) =>
  async (url: string, init: object = {}): Promise<Response> => {
    const answer = await fetch(url, init)
    const { status, statusText, headers } = answer
    const bytes = answer.body === null ? null : await readWhole(answer, bytesMax)
    return new Response(bytes === null ? null : new Uint8Array(bytes), {
      status,
      statusText,
      headers,
    })
  }
