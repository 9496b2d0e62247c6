// Search runs in a worker, and browsers refuse workers to pages opened from files.
// There, the worker's script runs in a hidden frame instead, which has the same interface.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inner = frame.contentWindow
      this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inner.importScripts = (...urls) => Promise.all(urls.map(url => this.load(url)))
      this.ready = this.load(url)
    }

    load(url) {
      const script = this.inner.document.createElement("script")
      script.src = new URL(url, location.href).href
      return new Promise((resolve, reject) => {
        script.onload = resolve
        script.onerror = () => reject(new Error(`${url} cannot be loaded`))
        this.inner.document.body.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
  window.Worker = window.IFrameWorker
}
