// Threads that run a list of tasks, each with its own database: one world uses one core, a sweep uses all. A task's result depends
// on the task alone, never on the thread.
import { Worker } from 'node:worker_threads'
import type { Task, TaskResult } from './pool-thread.ts'

export interface ThreadPoolOptions {
  readonly tasks: readonly Task[]
  readonly threads: number
  /** Called after each task, in the order of completion. After 'enough' no thread starts another. */
  readonly onResult: (result: TaskResult) => 'enough' | undefined
}

export async function runTasks({ tasks, threads, onResult }: ThreadPoolOptions): Promise<void> {
  let next = 0
  let isEnough = false
  const takeTask = () => (isEnough ? undefined : tasks[next++])
  const hand = async () => {
    const thread = new Worker(new URL('./pool-thread.ts', import.meta.url))
    try {
      for (let task = takeTask(); task; task = takeTask()) {
        if (onResult(await perform(thread, task)) === 'enough') isEnough = true
      }
    } finally {
      await thread.terminate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(threads, tasks.length) }, hand))
}

function perform(thread: Worker, task: Task): Promise<TaskResult> {
  return new Promise((resolve, reject) => {
    thread.once('error', reject)
    thread.once('message', (result: TaskResult) => {
      thread.off('error', reject)
      resolve(result)
    })
    thread.postMessage(task)
  })
}
