// The status of a request whose headers are sent unchanged, repeated ones included.
import { request } from 'node:http'

export function rawStatus(url: string, headers: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { headers: headers as string[] }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}
