mermaid.initialize({startOnLoad: true, securityLevel: "strict", theme: "neutral"});
