// Browsers start no worker on a page opened from a folder. There, the search of the theme runs in an iframe instead.
// The theme looks for a class of this name.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow;
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.started = new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => resolve(inside);
      script.onerror = reject;
      inside.document.body.append(script);
    });
  }

  postMessage(data) {
    this.started.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
